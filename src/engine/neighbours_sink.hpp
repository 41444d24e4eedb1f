// SPDX-License-Identifier: Apache-2.0
// Here: finished lists become the caller's arrays; between segments they are carried. Not here: order or selection.
#pragma once

#include <span>
#include <vector>

#include "core/backend.hpp"
#include "metrics/traits.hpp"
#include "tessera/options.hpp"
#include "tessera/result.hpp"

namespace tessera::engine {

class NeighboursSink final : public core::ListSink {
 public:
  /// Lists come with list_k <= k entries. carried: keep the keys, further segments follow.
  NeighboursSink(Index nq, Index k, Index list_k, const metrics::MetricTraits& traits, DistanceType distances, bool carried);

  /// Rows are places of the problem's order, which is set before the first list comes.
  void put(core::Range rows, const core::Candidate* lists) override;
  void follow(const core::QueryProblem& problem) noexcept { problem_ = &problem; }
  const core::Candidate* carry() const noexcept { return carry_.data(); }  // [nq, list_k]
  Report& report() noexcept { return out_.report; }

  /// The arrays, and the counts that the report owes.
  Neighbours take();

 private:
  void write(Index slot, std::span<const core::Candidate> list);

  Index list_k_;
  const metrics::MetricTraits& traits_;
  bool carried_;
  const core::QueryProblem* problem_ = nullptr;
  Neighbours out_;
  std::vector<core::Candidate> carry_;
};

}  // namespace tessera::engine
