// SPDX-License-Identifier: Apache-2.0
#include "select/row_state.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "select/best_list.hpp"
#include "select/nth_smallest.hpp"
#include "select/sort_candidates.hpp"

namespace tessera::select {

using core::Candidate;

namespace {

constexpr Index kRanked = 32;  // up to this many, counting how many are smaller beats sorting: no branch depends on the data

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

/// New pending pairs between two compactions of coarse brackets: few, because each may lower the threshold.
Index coarse_step(const RowCapacity& capacity) noexcept { return capacity.k / 2 + 8; }

/// The middle of a bracket: where z probably is. Pairs without a bracket come first.
float likely_z(const Pending& p) noexcept {
  return p.lower == -std::numeric_limits<float>::infinity() ? p.lower : 0.5f * p.lower + 0.5f * p.upper;
}

}  // namespace

RowCapacity RowCapacity::for_k(Index k, Index hits, bool eager, bool coarse) noexcept {
  // Twice k amortises a compaction over k new pairs; 32 more keeps small k from compacting every few hits.
  // Coarse brackets: most pending pairs wait until the threshold has fallen far enough to drop them uncomputed.
  const Index trigger = coarse ? 4 * k + 128 : eager ? k + k / 2 + 8 : 2 * k + 32;
  return {.k = k, .trigger = trigger, .pending = trigger + hits, .coarse = coarse};
}

void RowState::reset(const RowCapacity& capacity, Pending* pending, Candidate* best) noexcept {
  capacity_ = capacity;
  pending_ = pending;
  best_ = best;
  pending_count_ = 0;
  best_count_ = 0;
  next_compaction_ = capacity.coarse ? coarse_step(capacity) : capacity.trigger;
  best_sorted_ = false;
  computed_ = 0;
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
  if (capacity_.coarse && best_count_ == capacity_.k) {  // wide brackets have nothing to add to exact keys
    const Candidate& last = best_sorted_ ? best_[best_count_ - 1] : *std::max_element(best_, best_ + best_count_);
    tau_ = std::min(tau_, refiner.widest(refiner.z_above(last.key)));
    return;
  }
  float* uppers = scratch.uppers.data();
  for (Index i = 0; i < pending_count_; ++i) uppers[i] = pending_[i].upper;
  for (Index i = 0; i < best_count_; ++i) uppers[pending_count_ + i] = refiner.z_above(best_[i].key);
  tau_ = std::min(tau_, refiner.widest(nth_smallest({uppers, static_cast<std::size_t>(known)}, capacity_.k - 1)));
}

void RowState::drop_past_threshold() noexcept {
  // Not remove_if: whether a pair goes is anyone's guess, and a branch would guess.
  Index kept = 0;
  for (Index i = 0; i < pending_count_; ++i) {
    const Pending p = pending_[i];
    pending_[kept] = p;
    kept += p.lower > tau_ ? 0 : 1;
  }
  pending_count_ = kept;
}

void RowState::compact(Refiner& refiner, const Scratch& scratch) {
  if (capacity_.coarse) return compact_coarse(refiner, scratch);
  lower_threshold(refiner, scratch);
  drop_past_threshold();
  // Half the room between k and the trigger must come free, or compactions would follow each other closely.
  if (pending_count_ > (capacity_.k + capacity_.trigger) / 2) {
    refine_pending(pending_count_, refiner, scratch);
    lower_threshold(refiner, scratch);
  }
}

void RowState::compact_coarse(Refiner& refiner, const Scratch& scratch) {
  // First k exact candidates, so that there is an exact threshold; from then on the pairs that probably belong to the k best.
  const auto nearer = [](const Pending& a, const Pending& b) { return likely_z(a) < likely_z(b); };
  if (const Index wanted = std::min(capacity_.k - best_count_, pending_count_); wanted > 0) {
    if (wanted < pending_count_) std::nth_element(pending_, pending_ + wanted, pending_ + pending_count_, nearer);
    refine_pending(wanted, refiner, scratch);
  }
  lower_threshold(refiner, scratch);
  drop_past_threshold();
  const Index likely = std::partition(pending_, pending_ + pending_count_, [&](const Pending& p) { return likely_z(p) <= tau_; }) - pending_;
  if (likely > 0) {
    refine_pending(likely, refiner, scratch);
    lower_threshold(refiner, scratch);
    drop_past_threshold();
  }
  if (pending_count_ > capacity_.trigger / 2) refine_pending(pending_count_, refiner, scratch);
  next_compaction_ = pending_count_ + coarse_step(capacity_);
}

void RowState::insert(std::span<const Candidate> candidates) noexcept {
  for (const Candidate& c : candidates) {
    if (c < best_[best_count_ - 1]) insert_sorted(best_, best_count_, c);
  }
}

void RowState::compute(Index first, Index count, Refiner& refiner, const Scratch& scratch) {
  const std::span<const Pending> pairs(pending_ + first, static_cast<std::size_t>(count));
  if (count > 0 && best_count_ + count <= capacity_.k) {  // all of them stay
    refiner.keys(pairs, best_ + best_count_);
    best_count_ += count;
    best_sorted_ = false;
    return;
  }
  const bool few = best_sorted_ && best_count_ == capacity_.k && capacity_.k <= kRanked;
  Candidate* out = few ? scratch.refined.data() : std::copy_n(best_, best_count_, scratch.refined.data());
  refiner.keys(pairs, out);
  if (few) {
    insert({out, static_cast<std::size_t>(count)});
  } else {
    keep_best({scratch.refined.data(), static_cast<std::size_t>(best_count_ + count)});
  }
}

void RowState::drop_first(Index count) noexcept { pending_count_ = std::copy(pending_ + count, pending_ + pending_count_, pending_) - pending_; }

void RowState::refine_pending(Index count, Refiner& refiner, const Scratch& scratch) {
  compute(0, count, refiner, scratch);
  drop_first(count);
}

void RowState::settle(Refiner& refiner, const Scratch& scratch) {
  lower_threshold(refiner, scratch);
  drop_past_threshold();
}

void RowState::refine_before(std::uint32_t position, Refiner& refiner, const Scratch& scratch) {
  Index last = computed_;
  while (last < pending_count_ && pending_[last].position < position) ++last;
  // Whatever would have to be selected from is left for the end: once, not once a part.
  if (last == computed_ || best_count_ + (last - computed_) > capacity_.k) return;
  compute(computed_, last - computed_, refiner, scratch);
  computed_ = last;
}

void RowState::finish(Refiner& refiner, const Scratch& scratch, Candidate* out) {
  drop_first(std::exchange(computed_, 0));
  if (pending_count_ > 0) compact(refiner, scratch);
  refine_pending(pending_count_, refiner, scratch);
  if (!best_sorted_) sort_candidates({best_, static_cast<std::size_t>(best_count_)}, scratch.refined);
  std::copy_n(best_, best_count_, out);
  std::fill(out + best_count_, out + capacity_.k, Candidate{});
}

}  // namespace tessera::select
