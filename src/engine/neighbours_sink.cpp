// SPDX-License-Identifier: Apache-2.0
#include "engine/neighbours_sink.hpp"

#include <algorithm>

namespace tessera::engine {

NeighboursSink::NeighboursSink(Index nq, Index k, Index list_k, const metrics::MetricTraits& traits, DistanceType distances, bool carried)
    : list_k_(list_k), traits_(traits), carried_(carried) {
  out_.rows = nq;
  out_.k = k;
  const auto size = static_cast<std::size_t>(nq * k);
  out_.ids.assign(size, -1);
  if (distances == DistanceType::float64) {
    out_.distances64.assign(size, traits.pad);
  } else {
    out_.distances.assign(size, static_cast<float>(traits.pad));
  }
  if (carried) carry_.resize(static_cast<std::size_t>(nq * list_k));
}

void NeighboursSink::put(core::Range rows, const core::Candidate* lists) {
  // Lists of reordered queries go to lines far apart: they are asked for together.
  for (Index r = rows.first; r < rows.last && !problem_->order.empty(); ++r) {
    const auto slot = static_cast<std::size_t>(problem_->row_at(r) * out_.k);
    __builtin_prefetch(out_.ids.data() + slot, 1);
    __builtin_prefetch(out_.ids.data() + slot + 8, 1);
    if (out_.distances64.empty()) {
      __builtin_prefetch(out_.distances.data() + slot, 1);
    } else {
      __builtin_prefetch(out_.distances64.data() + slot, 1);
    }
  }
  for (Index r = rows.first; r < rows.last; ++r, lists += list_k_) {
    if (carried_) std::copy_n(lists, list_k_, carry_.data() + r * list_k_);
    const Index row = problem_->row_at(r);
    for (Index i = 0; i < std::min(list_k_, out_.k); ++i) write(row * out_.k + i, lists[i]);
  }
}

void NeighboursSink::write(Index slot, const core::Candidate& candidate) {
  const auto s = static_cast<std::size_t>(slot);
  const double value = candidate.id < 0 ? traits_.pad : traits_.report(candidate.key);
  out_.ids[s] = candidate.id;
  if (out_.distances64.empty()) {
    out_.distances[s] = static_cast<float>(value);
  } else {
    out_.distances64[s] = value;
  }
}

Neighbours NeighboursSink::take() {
  out_.report.skipped_queries = std::ssize(problem_->special.skipped);
  out_.report.zero_queries = std::ssize(problem_->special.zero);
  return std::move(out_);
}

}  // namespace tessera::engine
