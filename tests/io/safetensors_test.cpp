// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

const std::string kSix = bytes_of<float>({1, 2, 3, 4, 5, 6});

/// The header of one tensor "emb".
std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"emb":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

std::string malformed(const std::string& json, const ReadOptions& options = {}) {
  return open_error(ErrorCode::malformed_input, safetensors(json, kSix), "safetensors", options);
}

TEST(Safetensors, ViewsTheOnlyTensorWhereItLies) {
  const std::string bytes = safetensors(entry("F32", "[3,2]", "[0,24]"), kSix);
  const RowFile file = open_bytes(as_bytes(bytes), "");
  EXPECT_EQ(file.format(), "safetensors");
  EXPECT_EQ(file.rows().data, bytes.data() + bytes.size() - 24);
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Safetensors, IsMappedAndPicksATensorByName) {
  const TempFolder folder;
  const std::string json = R"({"__metadata__":{"format":"pt"},)"
                           R"("a.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                           R"("a.bias":{"dtype":"F32","shape":[2],"data_offsets":[16,24]},)"
                           R"("b.weight":{"dtype":"U16","shape":[2,4],"data_offsets":[0,16]}}   )";
  const std::string path = folder.write("x.safetensors", safetensors(json, kSix));
  const RowFile bias = RowFile::open(path + ":a.bias");
  EXPECT_TRUE(bias.mapped());
  EXPECT_EQ(elements<float>(bias.rows()), (std::vector<float>{5, 6}));
  EXPECT_EQ(RowFile::open(path + ":b.weight", range(1)).rows().first_id, 1);
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { RowFile::open(path); }), "a.weight F32 (2, 2)");
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { RowFile::open(path + ":c"); }), "no array named 'c'");
}

TEST(Safetensors, ReadsEveryNumericType) {
  const std::pair<std::string, DType> types[] = {
      {"F64", DType::f64}, {"F32", DType::f32}, {"F16", DType::f16}, {"BF16", DType::bf16}, {"I8", DType::i8},
      {"U8", DType::u8},   {"I16", DType::i16}, {"U16", DType::u16}, {"I32", DType::i32},   {"U32", DType::u32},
      {"I64", DType::i64}, {"U64", DType::u64}, {"BOOL", DType::u8},
  };
  for (const auto& [name, dtype] : types) {
    const std::string data(4 * size_of(dtype), 'x');
    const std::string bytes = safetensors(entry(name, "[2,2]", "[0," + std::to_string(data.size()) + "]"), data);
    EXPECT_EQ(open_bytes(as_bytes(bytes), "safetensors").rows().dtype, dtype) << name;
  }
}

TEST(Safetensors, RefusesOtherTypesAndShapesWithTheReason) {
  const auto unsupported = [](const std::string& json) {
    return open_error(ErrorCode::unsupported, safetensors(json, kSix), "safetensors");
  };
  EXPECT_CONTAINS(unsupported(entry("F8_E4M3", "[4,6]", "[0,24]")), "'F8_E4M3' is not read");
  EXPECT_CONTAINS(unsupported(entry("F32", "[1,2,3]", "[0,24]")), "(1, 2, 3)");
  EXPECT_CONTAINS(unsupported(entry("F32", "[]", "[0,4]")), "shape ()");
}

TEST(Safetensors, RefusesOffsetsThatAreNotTheShapesAndNeverOverflows) {
  struct Wrong {
    const char* dtype;
    const char* shape;
    const char* offsets;
    const char* says;
  };
  constexpr Wrong kWrong[] = {
      {"F32", "[3,2]", "[0,20]", "need 24 bytes, its data_offsets 0:20 span 20"},
      {"F32", "[3,2]", "[4,24]", "span 20"},
      {"F32", "[3,2]", "[24,0]", "the second not smaller"},
      {"F32", "[3,2]", "[-8,16]", "data_offsets"},
      {"F32", "[3,2]", "[0,24.0]", "data_offsets"},
      {"F32", "[3,2]", "[0,12,24]", "data_offsets"},
      {"F32", "[3,2]", "[8,32]", "truncated"},
      {"F32", "[3,0]", "[0,0]", "dimension 0"},
      {"F32", "[4611686018427387904,4]", "[0,0]", "more than 2^64"},
      {"U8", "[18446744073709551615,1]", "[0,18446744073709551615]", "broken"},
      {"U8", "[24,1]", "[18446744073709551591,18446744073709551615]", "broken"},
      {"U8", "[24,1]", "[9223372036854775807,9223372036854775831]", "truncated"},
      {"U8", "[99999999999999999999,1]", "[0,24]", "a shape of counts"},
  };
  for (const Wrong& wrong : kWrong) {
    SCOPED_TRACE(wrong.shape + std::string(wrong.offsets));
    EXPECT_CONTAINS(malformed(entry(wrong.dtype, wrong.shape, wrong.offsets)), wrong.says);
  }
}

TEST(Safetensors, RefusesBrokenHeaders) {
  for (const std::string json :
       {"", "{", "[]", "null", R"({"emb":1})", R"({"emb":{}})", R"({"emb":{"dtype":1}})",
        R"({"emb":{"dtype":"F32","shape":3}})", R"({"emb":{"dtype":"F32","shape":[-1]}})",
        R"({"emb":{"dtype":"F32","shape":[1]}})", "{} x"}) {
    EXPECT_CONTAINS(malformed(json), "broken safetensors header");
  }
  EXPECT_CONTAINS(open_error(ErrorCode::invalid_argument, safetensors("{}", ""), "safetensors"), "no arrays");
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes_of<std::uint64_t>({1ULL << 40}), "safetensors"),
                  "header of 1099511627776 bytes");
}

TEST(Safetensors, SurvivesDeeplyNestedJson) {
  malformed(std::string(1'000'000, '['));
}

TEST(Safetensors, ReadsAPrefixOfATruncatedFile) {
  const std::string bytes = safetensors(entry("F32", "[3,2]", "[0,24]"), kSix.substr(0, 20));
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "safetensors"), "2 whole rows");
  const RowFile prefix = open_bytes(as_bytes(bytes), "safetensors", range(1, 2));
  EXPECT_EQ(elements<float>(prefix.rows()), (std::vector<float>{3, 4}));
}

TEST(Safetensors, IsNotTakenForGzipWhenItsHeaderLengthLooksSo) {
  std::string json = entry("F32", "[3,2]", "[0,24]");
  json.resize(0x088b1f, ' ');  // as bytes: gzip's magic
  const std::string bytes = safetensors(json, kSix);
  EXPECT_EQ(open_bytes(as_bytes(bytes), "safetensors").rows().rows, 3);
  const TempFolder folder;
  EXPECT_EQ(RowFile::open(folder.write("a.safetensors", bytes)).rows().rows, 3);
}

TEST(Safetensors, RefusesEveryPrefixOfAFile) {
  const std::string bytes = safetensors(entry("F32", "[3,2]", "[0,24]"), kSix);
  for (std::size_t size = 1; size < bytes.size(); ++size)
    open_error(ErrorCode::malformed_input, bytes.substr(0, size), "safetensors");
}

TEST(Safetensors, CountsPastTwoToTheThirtyTwoBytes) {
  const TempFolder folder;
  constexpr std::uint64_t kRows = (1ULL << 31) + 3;
  const std::string size = std::to_string(2 * kRows);
  const std::string head = safetensors(entry("U8", "[" + std::to_string(kRows) + ",2]", "[0," + size + "]"), "");
  const std::string path = folder.write("big.safetensors", head);
  const auto bytes = static_cast<off_t>(head.size() + 2 * kRows);
  if (::truncate(path.c_str(), bytes) != 0) GTEST_SKIP() << "no sparse files here";
  const RowFile file = RowFile::open(path, range(static_cast<Index>(kRows) - 1));
  EXPECT_EQ(file.file_rows(), static_cast<Index>(kRows));
  EXPECT_EQ(elements<std::uint8_t>(file.rows()), (std::vector<std::uint8_t>{0, 0}));
}

}  // namespace
}  // namespace tessera::io::test
