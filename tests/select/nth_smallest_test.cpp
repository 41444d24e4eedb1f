// SPDX-License-Identifier: Apache-2.0
#include "select/nth_smallest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tessera::testing {
namespace {

TEST(NthSmallest, IsWhatSortingPutsThere) {
  std::mt19937_64 random(5);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<float> values(1 + random() % (trial % 2 == 0 ? 3000 : 90));
    for (float& v : values) {
      switch (trial % 5) {
        case 0: v = std::normal_distribution<float>()(random); break;
        case 1: v = static_cast<float>(random() % 4) - 2; break;                                     // few distinct
        case 2: v = 1 + static_cast<float>(random() % 1000) * 0x1p-23f; break;                       // the last digit decides
        case 3: v = std::ldexp(random() % 2 == 0 ? 1.0f : -1.0f, static_cast<int>(random() % 280) - 150); break;  // all sizes, subnormal too
        default: v = random() % 3 == 0 ? kInfinity : random() % 3 == 0 ? -kInfinity : 0.5f; break;
      }
    }
    std::vector<float> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const auto rank = static_cast<Index>(random() % values.size());
    EXPECT_EQ(select::nth_smallest(values, rank), sorted[static_cast<std::size_t>(rank)]) << "trial " << trial << ", rank " << rank << " of " << sorted.size();
  }
}

}  // namespace
}  // namespace tessera::testing
