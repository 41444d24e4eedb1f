// SPDX-License-Identifier: Apache-2.0
// Here: the k best of exact candidates, in memory of the caller, threshold always at hand. Not here: brackets and screens (row_state.hpp).
#pragma once

#include <algorithm>

#include "core/candidate.hpp"
#include "tessera/rows.hpp"

namespace tessera::select {

/// Puts a candidate in its place among k sorted ones, the last of which it replaces. It belongs there: candidate < list[k - 1].
inline void insert_sorted(core::Candidate* list, Index k, const core::Candidate& candidate) noexcept {
  Index at = k - 1;
  for (; at > 0 && candidate < list[at - 1]; --at) list[at] = list[at - 1];
  list[at] = candidate;
}

/// Up to kSorted a list is kept in order, and every candidate lowers the threshold at once. Longer ones are cut when as many again have come.
class BestList {
 public:
  static constexpr Index kSorted = 64;  // up to here moving half a list is cheaper than pairs kept by an old threshold

  /// Entries of memory that a list takes.
  static constexpr Index room(Index k) noexcept { return k <= kSorted ? k : 2 * k; }

  /// Starts from a list: memory [room(k)], of which the first k are ascending and padded.
  void reset(Index k, core::Candidate* memory) noexcept {
    k_ = k;
    count_ = k;
    list_ = memory;
    worst_ = memory[k - 1];
  }

  /// Whether the candidate may be among the k best. A candidate must not come twice.
  bool wants(const core::Candidate& candidate) const noexcept { return candidate < worst_; }
  /// Adds a candidate that is wanted.
  void add(const core::Candidate& candidate) noexcept {
    if (k_ <= kSorted) {
      insert_sorted(list_, k_, candidate);
      worst_ = list_[k_ - 1];
      return;
    }
    list_[count_++] = candidate;
    if (count_ == 2 * k_) cut();
  }
  double threshold() const noexcept { return worst_.key; }  ///< no better candidate has a larger key; +inf before there are k
  void prefetch() const noexcept {
    const auto* bytes = reinterpret_cast<const char*>(list_ + (k_ <= kSorted ? 0 : count_));
    for (Index b = 0; b < (k_ <= kSorted ? k_ * static_cast<Index>(sizeof(core::Candidate)) : 1); b += 64) __builtin_prefetch(bytes + b, 1);
  }

  /// Brings the threshold down to the k-th best of all so far; up to kSorted it is there.
  void cut() noexcept {
    if (count_ == k_) return;
    std::nth_element(list_, list_ + (k_ - 1), list_ + count_);
    count_ = k_;
    worst_ = list_[k_ - 1];
  }

  /// The k best, ascending, padded; they lie in the list's memory.
  const core::Candidate* finish() noexcept {
    cut();
    if (k_ > kSorted) std::sort(list_, list_ + k_);
    return list_;
  }

 private:
  Index k_ = 0;
  Index count_ = 0;
  core::Candidate* list_ = nullptr;
  core::Candidate worst_;
};

}  // namespace tessera::select
