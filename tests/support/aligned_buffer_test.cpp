// SPDX-License-Identifier: Apache-2.0
#include "support/aligned_buffer.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tessera::testing {
namespace {

TEST(AlignedBuffer, StartsOnACacheLine) {
  for (const std::size_t n : {1U, 3U, 100U}) {
    support::AlignedBuffer<float> buffer(n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_EQ(buffer.size(), n);
    EXPECT_EQ(buffer.bytes(), 4 * n);
  }
}

TEST(AlignedBuffer, HoldsNothingWhenEmpty) {
  support::AlignedBuffer<double> buffer(0);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.begin(), buffer.end());
}

TEST(AlignedBuffer, SaysOutOfMemoryForSizesThatNoMachineHas) {
  for (const std::size_t n : {static_cast<std::size_t>(-1), static_cast<std::size_t>(-1) / 8, std::size_t{1} << 60}) {
    try {
      support::AlignedBuffer<double> buffer(n);
      ADD_FAILURE() << "allocated " << n;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
