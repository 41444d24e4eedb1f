// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"
#include "lists.hpp"

namespace tessera::io::test {
namespace {

TEST(WriteNpy, WritesTheIds) {
  const TempFolder folder;
  write_neighbours(folder.path("a.npy"), small_lists());
  const RowFile file = RowFile::open(folder.path("a.npy"));
  EXPECT_EQ(file.rows().rows, 3);
  EXPECT_EQ(elements<std::int64_t>(file.rows()), small_lists().ids);
}

TEST(WriteNpy, WritesInt32WhenAsked) {
  const TempFolder folder;
  write_neighbours(folder.path("a.npy"), small_lists(), {.format = "", .ids_int32 = true});
  const RowFile file = RowFile::open(folder.path("a.npy"));
  EXPECT_EQ(elements<std::int32_t>(file.rows()), (std::vector<std::int32_t>{5, 7, 0, 2147483647, 3, -1}));
}

TEST(WriteNpy, CrossesItsBuffersUnharmed) {
  const TempFolder folder;
  Neighbours lists = lists_of(30001, 11);
  for (std::int64_t i = 0; i < lists.rows * lists.k; ++i) lists.ids.push_back(i * 1000003);
  write_neighbours(folder.path("a.npy"), lists);
  EXPECT_TRUE(elements<std::int64_t>(RowFile::open(folder.path("a.npy")).rows()) == lists.ids);
}

}  // namespace
}  // namespace tessera::io::test
