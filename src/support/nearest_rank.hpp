// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace tessera::support {

/// The value of which p percent are at or below: the ceil(p n / 100)-th smallest of n ascending ones, the first for p = 0. NaN of none.
inline double nearest_rank(std::span<const double> sorted, double p) noexcept {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(p / 100 * static_cast<double>(sorted.size()))));
  return sorted[rank - 1];
}

}  // namespace tessera::support
