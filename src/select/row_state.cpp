// SPDX-License-Identifier: Apache-2.0
#include "select/row_state.hpp"

#include <algorithm>
#include <limits>

#include "select/kth.hpp"

namespace tessera::select {

using core::Candidate;

namespace {

// Up to this many, counting how many are smaller beats selecting and sorting: no branch depends on the data. Measured at k = 10.
constexpr Index kRanked = 32;

/// Sorts the `keep` smallest candidates to `out` where keys alone tell, and there are few.
bool keep_by_rank(std::span<const Candidate> candidates, Index keep, Candidate* out) noexcept {
  const Index count = std::ssize(candidates);
  if (count > kRanked) return false;
  double keys[kRanked];
  int ranks[kRanked];
  for (Index i = 0; i < count; ++i) keys[i] = candidates[static_cast<std::size_t>(i)].key;
  Index sum = 0;
  for (Index i = 0; i < count; ++i) {
    int rank = 0;
    for (Index j = 0; j < count; ++j) rank += keys[j] < keys[i] ? 1 : 0;
    ranks[i] = rank;
    sum += rank;
  }
  if (sum != count * (count - 1) / 2) return false;  // equal keys, or one that compares with nothing
  for (Index i = 0; i < count; ++i) {
    if (ranks[i] < keep) out[ranks[i]] = candidates[static_cast<std::size_t>(i)];
  }
  return true;
}

}  // namespace

RowCapacity RowCapacity::for_k(Index k, Index hits, bool eager) noexcept {
  // Twice k amortises a compaction over k new pairs; 32 more keeps small k from compacting every few hits.
  const Index trigger = eager ? k + k / 2 + 8 : 2 * k + 32;
  return {.k = k, .trigger = trigger, .pending = trigger + hits};
}

void RowState::reset(const RowCapacity& capacity, Pending* pending, Candidate* best) noexcept {
  capacity_ = capacity;
  pending_ = pending;
  best_ = best;
  pending_count_ = 0;
  best_count_ = 0;
  best_sorted_ = false;
  tau_ = std::numeric_limits<float>::infinity();
}

void RowState::keep_best(std::span<Candidate> candidates) noexcept {
  const Index keep = std::min<Index>(capacity_.k, std::ssize(candidates));
  best_count_ = keep;
  best_sorted_ = keep_by_rank(candidates, keep, best_);
  if (best_sorted_) return;
  if (keep < std::ssize(candidates)) std::nth_element(candidates.begin(), candidates.begin() + keep, candidates.end());
  std::copy_n(candidates.begin(), keep, best_);
}

void RowState::seed(const Candidate* candidates, Index count, Refiner& refiner, const Scratch& scratch) {
  while (count > 0) {
    const Index room = std::min<Index>(count, std::ssize(scratch.refined) - best_count_);
    Candidate* out = std::copy_n(best_, best_count_, scratch.refined.data());
    for (Index i = 0; i < room; ++i) {
      if (candidates[i].id >= 0) *out++ = candidates[i];
    }
    keep_best({scratch.refined.data(), out});
    candidates += room;
    count -= room;
  }
  lower_threshold(refiner, scratch);
}

void RowState::lower_threshold(Refiner& refiner, const Scratch& scratch) noexcept {
  const Index known = pending_count_ + best_count_;
  if (known < capacity_.k) return;
  float* uppers = scratch.uppers.data();
  for (Index i = 0; i < pending_count_; ++i) uppers[i] = pending_[i].upper;
  for (Index i = 0; i < best_count_; ++i) uppers[pending_count_ + i] = refiner.z_above(best_[i].key);
  tau_ = std::min(tau_, refiner.widest(kth_smallest(uppers, known, capacity_.k - 1)));
}

void RowState::compact(Refiner& refiner, const Scratch& scratch) {
  lower_threshold(refiner, scratch);
  const Pending* end = std::remove_if(pending_, pending_ + pending_count_, [&](const Pending& p) { return p.lower > tau_; });
  pending_count_ = end - pending_;
  // Half the room between k and the trigger must come free, or compactions would follow each other closely.
  if (pending_count_ > (capacity_.k + capacity_.trigger) / 2) {
    refine_pending(refiner, scratch);
    lower_threshold(refiner, scratch);
  }
}

void RowState::refine_pending(Refiner& refiner, const Scratch& scratch) {
  Candidate* out = std::copy_n(best_, best_count_, scratch.refined.data());
  refiner.keys({pending_, static_cast<std::size_t>(pending_count_)}, out);
  keep_best({scratch.refined.data(), static_cast<std::size_t>(best_count_ + pending_count_)});
  pending_count_ = 0;
}

void RowState::finish(Refiner& refiner, const Scratch& scratch, Candidate* out) {
  compact(refiner, scratch);
  refine_pending(refiner, scratch);
  if (!best_sorted_) std::sort(best_, best_ + best_count_);
  std::copy_n(best_, best_count_, out);
  std::fill(out + best_count_, out + capacity_.k, Candidate{});
}

}  // namespace tessera::select
