// SPDX-License-Identifier: Apache-2.0
#include "io/npy_array.hpp"

#include "fixtures.hpp"
#include "io/npy_header.hpp"

namespace tessera::io::test {
namespace {

TEST(NpyArray, WritesHeadersThatReadBackAligned) {
  for (const Index rows : {Index{0}, Index{7}, Index{1} << 62}) {
    const std::string header = npy_header("<f8", rows, 10);
    const NpyHeader read = parse_npy_header(as_bytes(header), "x");
    EXPECT_EQ(read.data_offset, header.size());
    EXPECT_EQ(header.size() % 64, 0U);
    EXPECT_EQ(header.back(), '\n');
    EXPECT_EQ(read.descr, "<f8");
    EXPECT_FALSE(read.fortran_order);
    EXPECT_EQ(read.shape, (std::vector<std::uint64_t>{static_cast<std::uint64_t>(rows), 10}));
  }
}

TEST(NpyArray, StartsDataWhereAsked) {
  for (const std::vector<Index>& shape : {std::vector<Index>{5}, {10, 24, 10, 24}, {Index{1} << 62, 3}}) {
    const std::string header = npy_header("<f2", shape, 4096);
    const NpyHeader read = parse_npy_header(as_bytes(header), "x");
    EXPECT_EQ(header.size(), 4096U);
    EXPECT_EQ(read.data_offset, 4096U);
    EXPECT_EQ(read.shape, (std::vector<std::uint64_t>{shape.begin(), shape.end()}));
  }
}

}  // namespace
}  // namespace tessera::io::test
