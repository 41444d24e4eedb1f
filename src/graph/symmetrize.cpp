// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "graph/csr.hpp"

namespace tessera::graph {
namespace {

using Size = std::size_t;

/// The graph with its edges turned round; rows ascending by index, because rows are taken in order.
CsrGraph transposed(const CsrGraph& graph) {
  CsrGraph out;
  out.rows = graph.rows;
  out.indptr.assign(static_cast<Size>(graph.rows) + 1, 0);
  for (const std::int64_t index : graph.indices) ++out.indptr[static_cast<Size>(index) + 1];
  std::partial_sum(out.indptr.begin(), out.indptr.end(), out.indptr.begin());
  out.indices.resize(graph.indices.size());
  out.weights.resize(graph.indices.size());
  std::vector<std::int64_t> next(out.indptr.begin(), out.indptr.end() - 1);
  for (Index row = 0; row < graph.rows; ++row) {
    for (auto at = static_cast<Size>(graph.indptr[static_cast<Size>(row)]);
         at < static_cast<Size>(graph.indptr[static_cast<Size>(row) + 1]); ++at) {
      const auto slot = static_cast<Size>(next[static_cast<Size>(graph.indices[at])]++);
      out.indices[slot] = row;
      out.weights[slot] = graph.weights[at];
    }
  }
  return out;
}

/// One pass over two rows that ascend by index, keeping what is in either or in both.
class RowMerge {
 public:
  RowMerge(const CsrGraph& forward, const CsrGraph& backward, bool both_only, CsrGraph& out)
      : forward_(forward), backward_(backward), both_only_(both_only), out_(out) {}

  void row(Index row) {
    const auto r = static_cast<Size>(row);
    auto f = static_cast<Size>(forward_.indptr[r]);
    auto b = static_cast<Size>(backward_.indptr[r]);
    const auto f_end = static_cast<Size>(forward_.indptr[r + 1]);
    const auto b_end = static_cast<Size>(backward_.indptr[r + 1]);
    while (f < f_end || b < b_end) {
      const bool forward_here = f < f_end && (b == b_end || forward_.indices[f] <= backward_.indices[b]);
      const bool backward_here = b < b_end && (f == f_end || backward_.indices[b] <= forward_.indices[f]);
      if (!both_only_ || (forward_here && backward_here)) {
        forward_here ? keep(forward_, f) : keep(backward_, b);
      }
      f += forward_here ? 1 : 0;
      b += backward_here ? 1 : 0;
    }
    out_.indptr.push_back(static_cast<std::int64_t>(out_.indices.size()));
  }

 private:
  void keep(const CsrGraph& from, Size at) {
    out_.indices.push_back(from.indices[at]);
    out_.weights.push_back(from.weights[at]);
  }

  const CsrGraph& forward_;
  const CsrGraph& backward_;
  bool both_only_;
  CsrGraph& out_;
};

}  // namespace

CsrGraph symmetrized(const CsrGraph& graph, Symmetrize how) {
  const CsrGraph backward = transposed(graph);
  const CsrGraph forward = transposed(backward);  // the graph itself, rows ascending by index
  CsrGraph out;
  out.rows = graph.rows;
  out.float64 = graph.float64;
  out.symmetric = true;
  out.indptr.push_back(0);
  RowMerge merge(forward, backward, how == Symmetrize::mutual, out);
  for (Index row = 0; row < graph.rows; ++row) merge.row(row);
  return out;
}

}  // namespace tessera::graph
