// SPDX-License-Identifier: Apache-2.0
// Here: bounding boxes of rows, grown row by row. Not here: distances between them (block_tree.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace tessera::prepare {

/// A bounding box: low [d], then high [d].
using Box = std::span<const float>;

/// Around nothing.
inline void clear_box(std::span<float> box) noexcept {
  const auto d = static_cast<std::ptrdiff_t>(box.size() / 2);
  std::fill_n(box.begin(), d, std::numeric_limits<float>::infinity());
  std::fill_n(box.begin() + d, d, -std::numeric_limits<float>::infinity());
}

/// Around everything.
inline void open_box(std::span<float> box) noexcept {
  const auto d = static_cast<std::ptrdiff_t>(box.size() / 2);
  std::fill_n(box.begin(), d, -std::numeric_limits<float>::infinity());
  std::fill_n(box.begin() + d, d, std::numeric_limits<float>::infinity());
}

/// Around this row [d] too. NaN changes nothing.
template <std::size_t Extent>
inline void include_row(std::span<float, Extent> box, const float* row) noexcept {
  const std::size_t d = box.size() / 2;
  for (std::size_t t = 0; t < d; ++t) {
    box[t] = std::min(box[t], row[t]);
    box[d + t] = std::max(box[d + t], row[t]);
  }
}

}  // namespace tessera::prepare
