// SPDX-License-Identifier: Apache-2.0
#include "select/row_state.hpp"

#include <algorithm>
#include <limits>

namespace tessera::select {

using core::Candidate;

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
  tau_ = std::numeric_limits<float>::infinity();
}

void RowState::keep_best(std::span<Candidate> candidates) noexcept {
  const Index keep = std::min<Index>(capacity_.k, std::ssize(candidates));
  if (keep < std::ssize(candidates)) std::nth_element(candidates.begin(), candidates.begin() + keep, candidates.end());
  std::copy_n(candidates.begin(), keep, best_);
  best_count_ = keep;
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
  std::nth_element(uppers, uppers + (capacity_.k - 1), uppers + known);
  tau_ = std::min(tau_, refiner.widest(uppers[capacity_.k - 1]));
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
  std::sort(best_, best_ + best_count_);
  std::copy_n(best_, best_count_, out);
  std::fill(out + best_count_, out + capacity_.k, Candidate{});
}

}  // namespace tessera::select
