// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

const std::string kSix = bytes_of<float>({1, 2, 3, 4, 5, 6});

RowFile open(const std::string& bytes, const ReadOptions& options = {}) {
  return open_bytes(as_bytes(bytes), "npy", options);
}

TEST(Npy, ReadsRowsInCOrder) {
  const std::string bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n", kSix);
  const RowFile file = open(bytes);
  EXPECT_EQ(file.rows().rows, 3);
  EXPECT_EQ(file.rows().cols, 2);
  EXPECT_EQ(file.rows().dtype, DType::f32);
  EXPECT_EQ(file.file_rows(), 3);
  EXPECT_EQ(file.format(), "npy");
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ReadsFortranOrderThroughStrides) {
  const std::string bytes = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }", kSix);
  const RowFile file = open(bytes);
  EXPECT_EQ(file.rows().row_stride, 4);
  EXPECT_EQ(file.rows().col_stride, 12);
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(Npy, ReadsAnyKeyOrderWithOrWithoutTheLastComma) {
  for (const std::string dict : {"{'shape':(3,2),'descr':'<f4','fortran_order':False}",
                                 "{ \"fortran_order\" : False , 'shape' : ( 3L , 2L , ) , \"descr\" : '<f4' , }  \n"}) {
    const std::string bytes = npy(dict, kSix);
    EXPECT_EQ(open(bytes).rows().cols, 2) << dict;
  }
}

TEST(Npy, ReadsVersionsOneToThree) {
  for (const int major : {1, 2, 3}) {
    const std::string bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", kSix, major);
    EXPECT_EQ(open(bytes).rows().rows, 2) << major;
  }
  const std::string bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", kSix, 4);
  EXPECT_CONTAINS(open_error(ErrorCode::unsupported, bytes, "npy"), "version 4");
}

TEST(Npy, MarksBigEndianElementsAsSwapped) {
  const std::string bytes = npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2, 1)}",
                                bytes_of<std::int16_t>({-2, 258}, std::endian::big));
  const RowFile file = open(bytes);
  EXPECT_EQ(file.rows().byte_swapped, std::endian::native == std::endian::little);
  EXPECT_EQ(elements<std::int16_t>(file.rows()), (std::vector<std::int16_t>{-2, 258}));
}

TEST(Npy, ReadsEveryNumericType) {
  const std::pair<std::string, DType> types[] = {
      {"<f2", DType::f16}, {"<f4", DType::f32}, {"<f8", DType::f64}, {"|u1", DType::u8},
      {"|i1", DType::i8},  {"<i2", DType::i16}, {"<u2", DType::u16}, {"<i4", DType::i32},
      {"<u4", DType::u32}, {"<i8", DType::i64}, {"<u8", DType::u64}, {"|b1", DType::u8},
  };
  for (const auto& [descr, dtype] : types) {
    const std::string bytes = npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2, 2)}",
                                  std::string(4 * size_of(dtype), '\1'));
    EXPECT_EQ(open(bytes).rows().dtype, dtype) << descr;
  }
}

TEST(Npy, ReadsOneDimensionalArraysAsAColumn) {
  const std::string bytes = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (6,)}", kSix);
  const RowFile file = open(bytes);
  EXPECT_EQ(file.rows().rows, 6);
  EXPECT_EQ(file.rows().cols, 1);
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, AllowsNoRowsAndRefusesNoColumns) {
  const std::string none = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7)}", "");
  EXPECT_EQ(open(none).rows().rows, 0);
  EXPECT_EQ(open(none).rows().cols, 7);
  const std::string flat = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (7, 0)}", "");
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, flat, "npy"), "dimension 0");
}

TEST(Npy, RefusesObjectArraysWithTheReason) {
  const std::string bytes = npy("{'descr': '|O', 'fortran_order': False, 'shape': (2, 1)}", "(pickle)");
  EXPECT_CONTAINS(open_error(ErrorCode::unsupported, bytes, "npy"), "unpickled");
}

TEST(Npy, RefusesBfloat16SavedAsV2WithTheReason) {
  const std::string bytes = npy("{'descr': '|V2', 'fortran_order': False, 'shape': (2, 1)}", "abcd");
  EXPECT_CONTAINS(open_error(ErrorCode::unsupported, bytes, "npy"), "bfloat16");
}

TEST(Npy, RefusesOtherTypesWithTheReason) {
  const std::pair<std::string, std::string> cases[] = {
      {"'<c8'", "complex"},   {"'<f16'", "long double"}, {"'<U3'", "strings"},
      {"'<M8[ns]'", "dates"}, {"'|V7'", "records"},      {"'<x4'", "not known"},
      {"''", "not known"},    {"'f4'", "element type"},  {"[('a', '<f4'), ('b', [('c', '<f4')])]", "named fields"},
  };
  for (const auto& [descr, reason] : cases) {
    const std::string bytes = npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1, 1)}", "abcd");
    EXPECT_CONTAINS(open_error(ErrorCode::unsupported, bytes, "npy"), reason);
  }
}

TEST(Npy, RefusesOtherThanOneOrTwoDimensions) {
  for (const std::string shape : {"(1, 2, 3)", "()"}) {
    const std::string bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}", kSix);
    EXPECT_CONTAINS(open_error(ErrorCode::unsupported, bytes, "npy"), shape);
  }
}

TEST(Npy, RefusesBrokenHeadersNamingThePlace) {
  for (const std::string dict :
       {"", "{", "{}", "{'descr' '<f4'}", "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "{'descr': [('a', 'fortran_order'",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 99999999999999999999)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x"}) {
    EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, npy(dict, kSix), "npy"), "broken .npy header");
  }
}

TEST(Npy, NeverOverflowsOnHugeShapes) {
  for (const std::string shape : {"(18446744073709551615, 18446744073709551615)", "(4611686018427387904, 4)",
                                  "(2, 9223372036854775807)", "(18446744073709551615,)"}) {
    for (const std::string order : {"True", "False"}) {
      const std::string bytes = npy("{'descr': '<f8', 'fortran_order': " + order + ", 'shape': " + shape + "}", kSix);
      EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "npy"), "more than 2^63");
    }
  }
}

TEST(Npy, SaysWhenFortranOrderIsTruncatedThatNoRowIsWhole) {
  const std::string bytes = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2)}", kSix.substr(0, 20));
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "npy", range(0, 1)), "no row is whole");
}

TEST(Npy, ReadsThePrefixOfATruncatedFileThatItsMessageOffers) {
  const std::string bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}", kSix.substr(0, 20));
  const std::string message = open_error(ErrorCode::malformed_input, bytes, "npy");
  EXPECT_CONTAINS(message, "2 whole rows; fetch it again, or read only the row range 0:2");
  EXPECT_FALSE(contains(message, "looks like")) << message;
  EXPECT_EQ(elements<float>(open(bytes, range(0, 2)).rows()), (std::vector<float>{1, 2, 3, 4}));
  open_error(ErrorCode::malformed_input, bytes, "npy", range(0, 3));
}

TEST(Npy, RefusesEveryPrefixOfAFile) {
  const std::string bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}", kSix);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    open_error(ErrorCode::malformed_input, bytes.substr(0, size), "npy");
}

TEST(Npy, CountsPastTwoToTheThirtyTwoBytesInBothOrders) {
  const TempFolder folder;
  constexpr std::int64_t kRows = (1LL << 31) + 3;
  for (const std::string order : {"False", "True"}) {
    const std::string head =
        npy("{'descr': '|i1', 'fortran_order': " + order + ", 'shape': (" + std::to_string(kRows) + ", 2)}", "");
    const std::string path = folder.write("big.npy", head);
    if (::truncate(path.c_str(), static_cast<off_t>(head.size()) + 2 * kRows) != 0) GTEST_SKIP() << "no sparse files";
    const RowFile file = RowFile::open(path);
    EXPECT_EQ(file.rows().rows, kRows);
    EXPECT_EQ(element<std::int8_t>(file.rows(), kRows - 1, 1), 0);
    EXPECT_EQ(RowFile::open(path, range(kRows - 1)).rows().first_id, kRows - 1);
  }
}

TEST(Npy, SaysWhatAFileWithoutTheMagicLooksLike) {
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, "version https://git-lfs.github.com/spec/v1\n", "npy"),
                  "git lfs pull");
}

}  // namespace
}  // namespace tessera::io::test
