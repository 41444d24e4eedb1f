// SPDX-License-Identifier: Apache-2.0
// Here: the k best of candidates whose keys are exact already. Not here: brackets and screens (row_state.hpp).
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/candidate.hpp"
#include "tessera/rows.hpp"

namespace tessera::select {

/// Keeps the k best by (key, id), whatever order they come in.
class ExactList {
 public:
  void reset(Index k) {
    k_ = static_cast<std::size_t>(k);
    all_.clear();
    worst_ = core::Candidate{.key = std::numeric_limits<double>::infinity(), .id = -1};
  }

  /// Padding (id -1) is no candidate.
  void add(const core::Candidate& candidate) {
    if (candidate.id < 0 || !(candidate < worst_)) return;
    all_.push_back(candidate);
    // Room for k more, so that a cut is paid for by k additions.
    if (all_.size() >= 2 * k_ + 32) cut();
  }

  /// The key that a better candidate may have at most: the k-th best so far, +inf before there are k.
  double threshold() const noexcept { return worst_.key; }

  /// Brings the threshold down to the k-th best of all so far.
  void cut() {
    if (all_.size() < k_) return;
    std::nth_element(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(k_ - 1), all_.end());
    all_.resize(k_);
    worst_ = all_.back();
  }

  /// out [k], ascending, padded.
  void finish(core::Candidate* out) {
    cut();
    std::sort(all_.begin(), all_.end());
    std::fill(std::copy(all_.begin(), all_.end(), out), out + k_, core::Candidate{});
  }

 private:
  std::size_t k_ = 1;
  std::vector<core::Candidate> all_;
  core::Candidate worst_;
};

}  // namespace tessera::select
