// SPDX-License-Identifier: Apache-2.0
#include "engine/neighbours_sink.hpp"

#include <algorithm>

#include "support/large_pages.hpp"

namespace tessera::engine {
namespace {

template <class T>
void fill(std::vector<T>& values, std::size_t size, T value) {
  values.reserve(size);
  support::prefer_large_pages(values.data(), size * sizeof(T));
  values.assign(size, value);
}

}  // namespace

NeighboursSink::NeighboursSink(Index nq, Index k, Index list_k, const metrics::MetricTraits& traits, DistanceType distances, bool carried)
    : list_k_(list_k), traits_(traits), carried_(carried) {
  out_.rows = nq;
  out_.k = k;
  const auto size = static_cast<std::size_t>(nq * k);
  fill(out_.ids, size, std::int64_t{-1});
  if (distances == DistanceType::float64) {
    fill(out_.distances64, size, traits.pad);
  } else {
    fill(out_.distances, size, static_cast<float>(traits.pad));
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
    write(problem_->row_at(r) * out_.k, {lists, static_cast<std::size_t>(std::min(list_k_, out_.k))});
  }
}

void NeighboursSink::write(Index slot, std::span<const core::Candidate> list) {
  const auto s = static_cast<std::size_t>(slot);
  const auto value = [&](const core::Candidate& c) { return c.id < 0 ? traits_.pad : traits_.report(c.key); };
  for (std::size_t i = 0; i < list.size(); ++i) out_.ids[s + i] = list[i].id;
  if (out_.distances64.empty()) {
    for (std::size_t i = 0; i < list.size(); ++i) out_.distances[s + i] = static_cast<float>(value(list[i]));
  } else {
    for (std::size_t i = 0; i < list.size(); ++i) out_.distances64[s + i] = value(list[i]);
  }
}

Neighbours NeighboursSink::take() {
  out_.report.skipped_queries = std::ssize(problem_->special.skipped);
  out_.report.zero_queries = std::ssize(problem_->special.zero);
  return std::move(out_);
}

}  // namespace tessera::engine
