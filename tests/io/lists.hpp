// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "tessera/io.hpp"

namespace tessera::io::test {

/// Lists still to be filled.
inline Neighbours lists_of(Index rows, Index k) {
  Neighbours lists;
  lists.rows = rows;
  lists.k = k;
  return lists;
}

/// Three lists of two: the last one is padded.
inline Neighbours small_lists() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  return {.rows = 3,
          .k = 2,
          .ids = {5, 7, 0, 2147483647, 3, -1},
          .distances = {0, 0.1F, 1.5F, 1e30F, 2, kInf},
          .distances64 = {},
          .shifts = {},
          .report = {}};
}

/// The same with double distances.
inline Neighbours wide_lists() {
  Neighbours lists = small_lists();
  lists.distances.clear();
  lists.distances64 = {0, 0.1, 1.5, 1e30, 2, std::numeric_limits<double>::infinity()};
  return lists;
}

}  // namespace tessera::io::test
