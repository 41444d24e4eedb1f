// SPDX-License-Identifier: Apache-2.0
#include "graph/csr.hpp"

#include "support/fail.hpp"

namespace tessera {
namespace {

using support::fail;

void check_shape(const Neighbours& lists) {
  const auto want = static_cast<std::size_t>(lists.rows) * static_cast<std::size_t>(lists.k);
  const std::size_t distances = lists.distances64.empty() ? lists.distances.size() : lists.distances64.size();
  if (lists.rows < 0 || lists.k < 0 || lists.ids.size() != want || distances != want) {
    fail(ErrorCode::invalid_argument, "{} ids and {} distances for {} lists of {} neighbours; wanted one of each",
         lists.ids.size(), distances, lists.rows, lists.k);
  }
}

}  // namespace

namespace graph {

CsrGraph directed(const Neighbours& lists, Index first_id) {
  check_shape(lists);
  CsrGraph graph;
  graph.rows = lists.rows;
  graph.float64 = !lists.distances64.empty();
  graph.indptr.reserve(static_cast<std::size_t>(lists.rows) + 1);
  graph.indptr.push_back(0);
  graph.indices.reserve(lists.ids.size());
  graph.weights.reserve(lists.ids.size());
  for (Index row = 0; row < lists.rows; ++row) {
    for (auto at = static_cast<std::size_t>(row * lists.k); at < static_cast<std::size_t>((row + 1) * lists.k); ++at) {
      if (lists.ids[at] < 0) continue;  // padding
      const std::int64_t index = lists.ids[at] - first_id;
      if (index < 0 || index >= lists.rows) {
        fail(ErrorCode::invalid_argument, "list {} names id {}; a graph of {} rows wanted ids {} to {}", row,
             lists.ids[at], lists.rows, first_id, first_id + lists.rows - 1);
      }
      graph.indices.push_back(index);
      graph.weights.push_back(graph.float64 ? lists.distances64[at] : static_cast<double>(lists.distances[at]));
    }
    graph.indptr.push_back(static_cast<std::int64_t>(graph.indices.size()));
  }
  return graph;
}

}  // namespace graph

CsrGraph csr_graph(const Neighbours& lists, const GraphOptions& options) {
  if (!(options.sigma >= 0)) fail(ErrorCode::invalid_argument, "sigma is {}: wanted 0 (chosen for you) or more", options.sigma);
  if (options.weights == EdgeWeights::heat && options.metric == Metric::inner_product) {
    fail(ErrorCode::invalid_argument, "heat weights need a distance, and inner_product is none: use l2 or cosine, or connectivity");
  }
  CsrGraph lists_graph = graph::directed(lists, options.first_id);
  if (options.symmetrize == Symmetrize::none && options.weights == EdgeWeights::distance) return lists_graph;
  CsrGraph graph = options.symmetrize == Symmetrize::none ? lists_graph : graph::symmetrized(lists_graph, options.symmetrize);
  graph::set_weights(graph, lists_graph, options);
  return graph;
}

}  // namespace tessera
