// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

std::string three_rows() {
  std::string bytes;
  for (float row = 0; row < 3; ++row) bytes += bytes_of<std::int32_t>({2}) + bytes_of<float>({row, row + 0.5F});
  return bytes;
}

TEST(Xvecs, ViewsRowsWhereTheyLie) {
  const std::string bytes = three_rows();
  const RowFile file = open_bytes(as_bytes(bytes), "fvecs");
  EXPECT_EQ(file.rows().rows, 3);
  EXPECT_EQ(file.rows().row_stride, 12);
  EXPECT_EQ(file.rows().data, bytes.data() + 4);
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{0, 0.5F, 1, 1.5F, 2, 2.5F}));
}

TEST(Xvecs, ReadsBytesAndIntegers) {
  const std::string small = bytes_of<std::int32_t>({3}) + "abc" + bytes_of<std::int32_t>({3}) + "def";
  const RowFile bvecs = open_bytes(as_bytes(small), "bvecs");
  EXPECT_EQ(bvecs.rows().row_stride, 7);
  EXPECT_EQ(elements<char>(bvecs.rows()), (std::vector<char>{'a', 'b', 'c', 'd', 'e', 'f'}));
  const std::string ids = bytes_of<std::int32_t>({2, -1, 7});
  EXPECT_EQ(elements<std::int32_t>(open_bytes(as_bytes(ids), "ivecs").rows()), (std::vector<std::int32_t>{-1, 7}));
}

TEST(Xvecs, ChecksTheDimensionOfEveryRow) {
  std::string bytes = three_rows();
  bytes[24] = 3;
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "fvecs"), "row 2 says d = 3, row 0 says 2");
  EXPECT_EQ(open_bytes(as_bytes(bytes), "fvecs", range(0, 2)).rows().rows, 2);
}

TEST(Xvecs, RefusesDimensionsBelowOne) {
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes_of<std::int32_t>({0, 0}), "fvecs"), "d = 0");
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes_of<std::int32_t>({-7, 0}), "fvecs"), "d = -7");
}

TEST(Xvecs, CountsWholeRowsOfATruncatedFile) {
  const std::string bytes = three_rows().substr(0, 31);
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "fvecs"),
                  "need 36 bytes, the file has 31: 2 whole rows");
  EXPECT_EQ(open_bytes(as_bytes(bytes), "fvecs", range(0, 2)).file_rows(), 2);
  open_error(ErrorCode::malformed_input, bytes, "fvecs", range(0, 3));
}

TEST(Xvecs, RefusesPrefixesThatCutARow) {
  const std::string bytes = three_rows();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    if (size == 0 || size % 12 != 0) open_error(ErrorCode::malformed_input, bytes.substr(0, size), "fvecs");
  }
}

TEST(Xvecs, SurvivesTheLargestDimension) {
  open_error(ErrorCode::malformed_input, bytes_of<std::int32_t>({0x7fffffff, 1, 2}), "fvecs");
}

TEST(Xvecs, SaysThatFbinLooksLikeFbin) {
  const std::string bytes = bytes_of<std::uint32_t>({3, 2}) + bytes_of<float>({1, 2, 3, 4, 5, 6});
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "fvecs"), ".fbin");
}

}  // namespace
}  // namespace tessera::io::test
