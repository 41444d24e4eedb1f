// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"
#include "lists.hpp"

namespace tessera::io::test {
namespace {

std::string wanted() {
  return bytes_of<std::uint32_t>({3, 2}) + bytes_of<std::uint32_t>({5, 7, 0, 0x7fffffff, 3, 0xffffffff}) +
         bytes_of<float>({0, 0.1F, 1.5F, 1e30F, 2, std::numeric_limits<float>::infinity()});
}

TEST(WriteIbin, WritesBigAnnGroundTruthWithMissingIdsAllOnes) {
  const TempFolder folder;
  write_neighbours(folder.path("a.ibin"), small_lists());
  EXPECT_EQ(read_all(folder.path("a.ibin")), wanted());
}

TEST(WriteIbin, RoundsDoublesToFloat) {
  const TempFolder folder;
  write_neighbours(folder.path("a.ibin"), wide_lists());
  EXPECT_EQ(read_all(folder.path("a.ibin")), wanted());
}

}  // namespace
}  // namespace tessera::io::test
