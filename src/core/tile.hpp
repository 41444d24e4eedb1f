// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/rows.hpp"

namespace tessera::core {

/// Numbers [first, last).
struct Range {
  Index first = 0;
  Index last = 0;
  Index size() const noexcept { return last - first; }
};

/// A rectangle of the distance matrix: query rows by columns of the prepared base.
struct Tile {
  Range rows;  // top-K: places of queries (core/problem.hpp). Values: rows
  Range cols;  // top-K: positions among the packed base rows; first is a tile boundary of the plan. Values: columns
  Index batch = 0;
};

}  // namespace tessera::core
