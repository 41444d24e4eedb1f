// SPDX-License-Identifier: Apache-2.0
// Here: the k-th smallest of a few floats, without branches that the data could mislead. Not here: what it is a threshold of (row_state.hpp).
#pragma once

#include <algorithm>
#include <cmath>

#include "tessera/rows.hpp"

namespace tessera::select {

/// The value at place `place` (from 0) when sorted; no NaN. May reorder the values.
inline float kth_smallest(float* values, Index count, Index place) noexcept {
  constexpr Index kFew = 64;
  constexpr int kRounds = 24;
  if (count <= kFew) {
    const auto at_most = [&](float limit) {
      int n = 0;
      for (Index i = 0; i < count; ++i) n += values[i] <= limit ? 1 : 0;
      return n;
    };
    // Bisecting by value until as many are below as are wanted; equal values never get there.
    float low = *std::min_element(values, values + count);
    float high = *std::max_element(values, values + count);
    for (int round = 0; round < kRounds && std::isfinite(low) && std::isfinite(high); ++round) {
      const float middle = low + 0.5f * (high - low);
      const int n = at_most(middle);
      if (n == place + 1) {
        float found = low;
        for (Index i = 0; i < count; ++i) found = values[i] <= middle ? std::max(found, values[i]) : found;
        return found;
      }
      (n > place ? high : low) = middle;
    }
  }
  std::nth_element(values, values + place, values + count);
  return values[place];
}

}  // namespace tessera::select
