// SPDX-License-Identifier: Apache-2.0
// Here: neighbour lists as graphs: sparse matrices, symmetry, weights, components, and their files. Not here: finding
// neighbours (knn).
#pragma once

#include <span>

#include "tessera/graph.hpp"

namespace tessera::graph {

/// Lists as a directed graph with distances for weights, rows in list order. Padding is left out.
/// throws   Error{invalid_argument}: an id outside [first_id, first_id + rows).
CsrGraph directed(const Neighbours& lists, Index first_id);

inline std::span<const std::int64_t> row_indices(const CsrGraph& graph, Index row) noexcept {
  const auto first = static_cast<std::size_t>(graph.indptr[static_cast<std::size_t>(row)]);
  const auto last = static_cast<std::size_t>(graph.indptr[static_cast<std::size_t>(row) + 1]);
  return {graph.indices.data() + first, last - first};
}

/// Both directions of the edges that `how` keeps; rows ascending by index. The two directions of an edge carry one
/// weight: distances are symmetric to the bit.
CsrGraph symmetrized(const CsrGraph& graph, Symmetrize how);

/// Replaces the distances of `graph` by what `options` asks for. lists: the directed graph `graph` came from.
void set_weights(CsrGraph& graph, const CsrGraph& lists, const GraphOptions& options);

}  // namespace tessera::graph
