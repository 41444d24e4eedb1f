// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "graph/csr.hpp"

namespace tessera::graph {
namespace {

using Size = std::size_t;

/// The lower median of the rows' last distances: one number for the graph's scale, whatever order the rows come in.
double median_last_distance(const CsrGraph& lists) {
  std::vector<double> last;
  for (Index row = 0; row < lists.rows; ++row) {
    const auto end = lists.indptr[static_cast<Size>(row) + 1];
    if (end > lists.indptr[static_cast<Size>(row)]) last.push_back(lists.weights[static_cast<Size>(end) - 1]);
  }
  if (last.empty()) return 0;
  const auto middle = last.begin() + (std::ssize(last) - 1) / 2;
  std::nth_element(last.begin(), middle, last.end());
  return *middle;
}

/// A reported distance as the one that is squared: sqeuclidean is squared already.
double length_of(double distance, Metric metric) { return metric == Metric::sqeuclidean ? std::sqrt(distance) : distance; }

void set_heat(CsrGraph& graph, const CsrGraph& lists, const GraphOptions& options) {
  double sigma = options.sigma > 0 ? options.sigma : length_of(median_last_distance(lists), options.metric);
  if (sigma == 0) sigma = 1;  // more than half of the rows have nothing but duplicates around them
  for (double& weight : graph.weights) {
    const double scaled = length_of(weight, options.metric) / sigma;
    weight = std::exp(-0.5 * scaled * scaled);
  }
}

/// Neighbours of every row in ascending order, the row itself left out.
CsrGraph sorted_without_self(const CsrGraph& lists) {
  CsrGraph out;
  out.rows = lists.rows;
  out.indptr.push_back(0);
  for (Index row = 0; row < lists.rows; ++row) {
    const auto first = std::ssize(out.indices);
    for (const std::int64_t index : row_indices(lists, row)) {
      if (index != row) out.indices.push_back(index);
    }
    std::sort(out.indices.begin() + first, out.indices.end());
    out.indptr.push_back(std::ssize(out.indices));
  }
  return out;
}

double jaccard(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  Size shared = 0;
  for (Size i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) ++shared;
    const bool step_a = a[i] <= b[j];
    const bool step_b = b[j] <= a[i];
    i += step_a ? 1 : 0;
    j += step_b ? 1 : 0;
  }
  const Size all = a.size() + b.size() - shared;
  return all == 0 ? 0 : static_cast<double>(shared) / static_cast<double>(all);
}

void set_jaccard(CsrGraph& graph, const CsrGraph& lists) {
  const CsrGraph sets = sorted_without_self(lists);
  Size at = 0;
  for (Index row = 0; row < graph.rows; ++row) {
    for (const std::int64_t index : row_indices(graph, row)) {
      graph.weights[at++] = jaccard(row_indices(sets, row), row_indices(sets, index));
    }
  }
}

}  // namespace

void set_weights(CsrGraph& graph, const CsrGraph& lists, const GraphOptions& options) {
  switch (options.weights) {
    case EdgeWeights::distance: break;
    case EdgeWeights::connectivity: std::fill(graph.weights.begin(), graph.weights.end(), 1.0); break;
    case EdgeWeights::heat: set_heat(graph, lists, options); break;
    case EdgeWeights::jaccard: set_jaccard(graph, lists); break;
  }
}

}  // namespace tessera::graph
