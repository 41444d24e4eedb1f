// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "graph/csr.hpp"

namespace tessera {
namespace {

/// Disjoint sets; a root holds itself. Paths are halved on every walk, sets joined by size.
class Sets {
 public:
  explicit Sets(Index rows) : parent_(static_cast<std::size_t>(rows)), size_(static_cast<std::size_t>(rows), 1) {
    std::iota(parent_.begin(), parent_.end(), std::int64_t{0});
  }

  std::int64_t root(std::int64_t row) {
    while (parent(row) != row) {
      parent(row) = parent(parent(row));
      row = parent(row);
    }
    return row;
  }

  void join(std::int64_t a, std::int64_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    if (size(a) < size(b)) std::swap(a, b);
    parent(b) = a;
    size(a) += size(b);
  }

  std::int64_t& parent(std::int64_t row) { return parent_[static_cast<std::size_t>(row)]; }
  std::int64_t& size(std::int64_t row) { return size_[static_cast<std::size_t>(row)]; }

 private:
  std::vector<std::int64_t> parent_;
  std::vector<std::int64_t> size_;
};

}  // namespace

GraphComponents connected_components(const CsrGraph& graph) {
  Sets sets(graph.rows);
  for (Index row = 0; row < graph.rows; ++row) {
    for (const std::int64_t index : graph::row_indices(graph, row)) sets.join(row, index);
  }
  GraphComponents out;
  for (Index row = 0; row < graph.rows; ++row) {
    if (sets.parent(row) != row) continue;
    ++out.components;
    out.largest = std::max(out.largest, sets.size(row));
    out.isolated += sets.size(row) == 1 ? 1 : 0;
  }
  return out;
}

}  // namespace tessera
