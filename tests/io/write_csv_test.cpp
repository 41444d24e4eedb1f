// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"
#include "lists.hpp"

namespace tessera::io::test {
namespace {

TEST(WriteCsv, WritesOneNeighbourALineInTheFewestDigits) {
  const TempFolder folder;
  write_neighbours(folder.path("a.csv"), small_lists());
  EXPECT_EQ(read_all(folder.path("a.csv")),
            "query,rank,id,distance\n0,1,5,0\n0,2,7,0.1\n1,1,0,1.5\n1,2,2147483647,1e+30\n2,1,3,2\n2,2,-1,inf\n");
}

TEST(WriteCsv, ReadsBackAsTheSameDoubles) {
  const TempFolder folder;
  Neighbours lists = lists_of(1, 3);
  lists.ids = {1, 2, 3};
  lists.distances64 = {0.1, 1.0 / 3.0, 5e-324};
  write_neighbours(folder.path("a.csv"), lists);
  const RowFile file = RowFile::open(folder.path("a.csv"));
  for (Index i = 0; i < 3; ++i) EXPECT_EQ(element<double>(file.rows(), i, 3), lists.distances64[i]);
}

}  // namespace
}  // namespace tessera::io::test
