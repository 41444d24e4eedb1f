// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"
#include "lists.hpp"

namespace tessera::io::test {
namespace {

TEST(WriteIvecs, WritesTheIds) {
  const TempFolder folder;
  write_neighbours(folder.path("a.ivecs"), small_lists());
  EXPECT_EQ(read_all(folder.path("a.ivecs")), bytes_of<std::int32_t>({2, 5, 7, 2, 0, 2147483647, 2, 3, -1}));
  EXPECT_EQ(RowFile::open(folder.path("a.ivecs")).rows().rows, 3);
}

}  // namespace
}  // namespace tessera::io::test
