// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

std::string header(char type, std::initializer_list<std::uint32_t> sizes) {
  std::string out{'\0', '\0', type, static_cast<char>(sizes.size())};
  return out + bytes_of(sizes, std::endian::big);
}

TEST(Idx, FlattensAllButTheFirstDimension) {
  const std::string bytes = header(8, {2, 2, 3}) + "abcdefghijkl";
  const RowFile file = open_bytes(as_bytes(bytes), "idx");
  EXPECT_EQ(file.rows().rows, 2);
  EXPECT_EQ(file.rows().cols, 6);
  EXPECT_EQ(file.rows().dtype, DType::u8);
  EXPECT_FALSE(file.rows().byte_swapped);
  EXPECT_EQ(element<char>(file.rows(), 1, 0), 'g');
}

TEST(Idx, ReadsLabelsAsAColumn) {
  const std::string bytes = header(8, {3}) + "abc";
  const RowFile file = open_bytes(as_bytes(bytes), "idx");
  EXPECT_EQ(file.rows().rows, 3);
  EXPECT_EQ(file.rows().cols, 1);
}

TEST(Idx, ReadsEveryTypeBigEndian) {
  const std::pair<char, DType> types[] = {{0x08, DType::u8},  {0x09, DType::i8},  {0x0b, DType::i16},
                                          {0x0c, DType::i32}, {0x0d, DType::f32}, {0x0e, DType::f64}};
  for (const auto& [type, dtype] : types) {
    const std::string bytes = header(type, {2, 3}) + std::string(6 * size_of(dtype), 'x');
    EXPECT_EQ(open_bytes(as_bytes(bytes), "idx").rows().dtype, dtype);
  }
  const std::string bytes = header(0x0d, {1, 2}) + bytes_of<float>({1.5F, -2}, std::endian::big);
  EXPECT_EQ(elements<float>(open_bytes(as_bytes(bytes), "idx").rows()), (std::vector<float>{1.5F, -2}));
}

TEST(Idx, IsToldByItsContent) {
  const std::string bytes = header(8, {2, 2}) + "abcd";
  EXPECT_EQ(open_bytes(as_bytes(bytes), "").format(), "idx");
}

TEST(Idx, RefusesWrongMagicShowingTheBytes) {
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, std::string("\0\0\x0f\x01", 4) + "aaaa", "idx"),
                  "00 00 0f 01");
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, "abcdefgh", "idx"), "61 62 63 64");
}

TEST(Idx, RefusesEveryPrefixOfAFile) {
  const std::string bytes = header(8, {2, 2, 3}) + "abcdefghijkl";
  for (std::size_t size = 0; size < bytes.size(); ++size)
    open_error(ErrorCode::malformed_input, bytes.substr(0, size), "idx");
}

TEST(Idx, NeverOverflowsOnHugeSizes) {
  open_error(ErrorCode::malformed_input, header(0x0e, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
             "idx");
  open_error(ErrorCode::malformed_input, header(0x0e, {0xffffffff, 0x80000000, 0x80000000}), "idx");
}

}  // namespace
}  // namespace tessera::io::test
