// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

std::string header(std::uint32_t n, std::uint32_t d) { return bytes_of<std::uint32_t>({n, d}); }

TEST(Xbin, ReadsEveryElementType) {
  const std::pair<std::string, DType> types[] = {{"fbin", DType::f32},  {"u8bin", DType::u8},   {"i8bin", DType::i8},
                                                 {"ibin", DType::i32},  {"f16bin", DType::f16}, {"hbin", DType::f16},
                                                 {"u64bin", DType::u64}};
  for (const auto& [format, dtype] : types) {
    const std::string bytes = header(3, 2) + std::string(6 * size_of(dtype), 'x');
    const RowFile file = open_bytes(as_bytes(bytes), format);
    EXPECT_EQ(file.rows().dtype, dtype) << format;
    EXPECT_EQ(file.rows().rows, 3) << format;
    EXPECT_EQ(file.rows().cols, 2) << format;
    EXPECT_EQ(file.rows().data, bytes.data() + 8) << format;
  }
}

TEST(Xbin, TellsTheSixteenByteHeaderBySize) {
  const std::string bytes = bytes_of<std::uint64_t>({2, 3}) + bytes_of<float>({1, 2, 3, 4, 5, 6});
  const RowFile file = open_bytes(as_bytes(bytes), "fbin");
  EXPECT_EQ(file.rows().rows, 2);
  EXPECT_EQ(file.rows().cols, 3);
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Xbin, ReportsATruncatedSixteenByteHeaderFileByItsOwnCounts) {
  const std::string bytes = bytes_of<std::uint64_t>({2, 3}) + bytes_of<float>({1, 2, 3, 4, 5});
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "fbin"),
                  "2 rows of 3 float32 need 40 bytes, the file has 36");
}

TEST(Xbin, AllowsNoRowsAndRefusesNoColumns) {
  EXPECT_EQ(open_bytes(as_bytes(header(0, 5)), "fbin").rows().rows, 0);
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, header(5, 0), "fbin"), "dimension 0");
}

TEST(Xbin, ReadsAPrefixOfATruncatedFile) {
  const std::string bytes = header(4, 2) + bytes_of<float>({1, 2, 3, 4});  // also exactly the size of an f16bin
  const RowFile file = open_bytes(as_bytes(bytes), "fbin", range(1, 2));
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{3, 4}));
  EXPECT_EQ(file.rows().first_id, 1);
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "fbin"), "2 whole rows");
}

TEST(Xbin, SaysThatFvecsLooksLikeFvecs) {
  std::string bytes;
  for (int row = 0; row < 5; ++row) bytes += bytes_of<std::int32_t>({2}) + bytes_of<float>({1.5F, 2.5F});
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "fbin"), "looks like fvecs");
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "fbin", range(0, 1)), "looks like fvecs");
}

TEST(Xbin, SaysThatGroundTruthLooksLikeGroundTruth) {
  const std::string bytes = header(3, 2) + std::string(8 * 6, '\0');
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "fbin"), "looks like ground truth");
}

TEST(Xbin, NeverOverflowsOnHugeCounts) {
  const std::string huge = header(0xffffffff, 0xffffffff) + std::string(20, 'x');
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, huge, "u64bin"), "more than 2^63");
  const std::string wide = bytes_of<std::uint64_t>({0x4000000000000000, 4});
  open_error(ErrorCode::malformed_input, wide, "u8bin");
  const std::string wrapping = bytes_of<std::uint64_t>({0x8000000000000000, 2});  // n·d is 2^64: wraps to 0
  open_error(ErrorCode::malformed_input, wrapping, "u8bin");
}

TEST(Xbin, RefusesEveryPrefixOfAFile) {
  const std::string bytes = header(3, 2) + std::string(24, 'x');
  for (std::size_t size = 0; size < bytes.size(); ++size)
    open_error(ErrorCode::malformed_input, bytes.substr(0, size), "fbin");
}

TEST(Xbin, CountsPastTwoToTheThirtyTwoBytes) {
  const TempFolder folder;
  constexpr std::uint32_t kRows = 1'100'000;
  constexpr std::uint32_t kCols = 1024;  // 4.5 GB of float32
  const std::string path = folder.write("big.fbin", header(kRows, kCols));
  const off_t size = 8 + off_t{kRows} * kCols * 4;
  if (::truncate(path.c_str(), size) != 0) GTEST_SKIP() << "no sparse files here";
  const RowFile file = RowFile::open(path);
  EXPECT_EQ(file.rows().rows, kRows);
  EXPECT_TRUE(file.mapped());
  EXPECT_EQ(element<float>(file.rows(), kRows - 1, kCols - 1), 0.0F);
  ASSERT_EQ(::truncate(path.c_str(), size - 1), 0);
  EXPECT_CONTAINS(error_of(ErrorCode::malformed_input, [&] { RowFile::open(path); }), "1099999 whole rows");
}

}  // namespace
}  // namespace tessera::io::test
