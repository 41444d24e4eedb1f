// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace tessera::core {

/// A possible neighbour. The order (key, id) is total, so a set of candidates has one answer whatever order it came in.
struct Candidate {
  double key = std::numeric_limits<double>::infinity();
  std::int64_t id = -1;  // -1: no neighbour; sorts after every real one, also after real ones at infinity
};

inline bool operator<(const Candidate& a, const Candidate& b) noexcept {
  if (a.key != b.key) return a.key < b.key;
  return static_cast<std::uint64_t>(a.id) < static_cast<std::uint64_t>(b.id);  // -1 becomes the largest
}

}  // namespace tessera::core
