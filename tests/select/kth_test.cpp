// SPDX-License-Identifier: Apache-2.0
#include "select/kth.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace tessera::testing {
namespace {

TEST(KthSmallest, IsTheValueThatSortingPutsThere) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> value(-1, 1);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int i = 0; i < 4000; ++i) {
    std::vector<float> values(1 + random() % 90);
    const int kind = static_cast<int>(random() % 5);
    for (float& v : values) {
      v = value(random);
      if (kind == 1) v = std::round(4 * v);                        // ties
      if (kind == 2) v = std::ldexp(v, static_cast<int>(random() % 240) - 140);  // every scale
      if (kind == 3 && random() % 3 == 0) v = random() % 2 == 0 ? kInfinity : -kInfinity;
      if (kind == 4) v = 0.5f;
    }
    const auto place = static_cast<Index>(random() % values.size());
    std::vector<float> sorted = values;
    std::ranges::sort(sorted);
    ASSERT_EQ(select::kth_smallest(values.data(), std::ssize(values), place), sorted[static_cast<std::size_t>(place)]) << "kind " << kind;
  }
}

}  // namespace
}  // namespace tessera::testing
