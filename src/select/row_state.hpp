// SPDX-License-Identifier: Apache-2.0
// Here: one query row's way to its k nearest: what still may belong to them, what certainly does, and the threshold.
// Not here: scores and their bounds, reading rows, threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/candidate.hpp"
#include "tessera/rows.hpp"

namespace tessera::select {

/// A pair that may belong to the answer: its z (metrics/bound.hpp) lies within [lower, upper]; it is known where both are equal.
struct Pending {
  float lower;
  float upper;
  std::uint32_t position;
};

/// How large a row's buffers are; derived from k.
struct RowCapacity {
  Index k;
  Index trigger;  // pending pairs at which a row is compacted
  Index pending;  // room: trigger + one kernel call's hits
  bool coarse;    // brackets are wide: the likeliest pending pairs are computed exactly at every compaction
  /// eager: compact early, where a lower threshold saves whole tiles.
  static RowCapacity for_k(Index k, Index hits, bool eager = false, bool coarse = false) noexcept;
};

/// Computes the canonical keys of pending pairs; append them to out.
class Refiner {
 public:
  virtual ~Refiner() = default;
  virtual void keys(std::span<const Pending> pairs, core::Candidate* out) = 0;  // [pairs.size()]
  virtual float z_above(double key) const noexcept = 0;  ///< a float not below any z that a pair with this key may have
  virtual float widest(float z) const noexcept = 0;      ///< the largest z that shares a key with this one (z itself, mostly)
};

/// Memory that one worker's rows share.
struct Scratch {
  std::span<float> uppers;              // [k + pending]
  std::span<core::Candidate> refined;   // [k + pending]
};

/// Invariant: every pair of this row seen so far is in pending or in best, or provably behind k others.
class RowState {
 public:
  /// best: room for k candidates; pending: room for capacity.pending.
  void reset(const RowCapacity& capacity, Pending* pending, core::Candidate* best) noexcept;

  /// Adds an exact candidate (before any screening: lists of earlier segments, rows that bypass the screen).
  void seed(const core::Candidate* candidates, Index count, Refiner& refiner, const Scratch& scratch);

  /// Adds a pair, unless it is already past the threshold. Room is the caller's business.
  void add(const Pending& pair) noexcept {
    if (!(pair.lower > tau_)) pending_[pending_count_++] = pair;
  }
  /// Tells that k pairs of this row are known to have z at or below this.
  void offer_threshold(float z, const Refiner& refiner) noexcept { tau_ = z < tau_ ? std::min(tau_, refiner.widest(z)) : tau_; }
  bool wants_compaction() const noexcept { return pending_count_ >= next_compaction_; }

  /// Lowers the threshold to the k-th smallest upper bound and drops what is past it; where bounds are too coarse to make
  /// room, computes the pending pairs exactly.
  void compact(Refiner& refiner, const Scratch& scratch);

  /// Before the end, where rows share base rows that memory is slow to bring: drops what can be dropped without computing anything; then, as often as there
  /// are parts of the base, the leading pending pairs at positions below one are computed.
  void settle(Refiner& refiner, const Scratch& scratch);
  void refine_before(std::uint32_t position, Refiner& refiner, const Scratch& scratch);

  /// Computes all that is left and writes the k best, ascending, padded.
  void finish(Refiner& refiner, const Scratch& scratch, core::Candidate* out);

  float tau() const noexcept { return tau_; }  ///< z of a proven k-th best or above; +inf at first

 private:
  void lower_threshold(Refiner& refiner, const Scratch& scratch) noexcept;
  void drop_past_threshold() noexcept;
  void compact_coarse(Refiner& refiner, const Scratch& scratch);
  /// Computes pending pairs for the candidates; they stay where they are.
  void compute(Index first, Index count, Refiner& refiner, const Scratch& scratch);
  void drop_first(Index count) noexcept;
  /// Computes the first `count` pending pairs and moves them to the candidates.
  void refine_pending(Index count, Refiner& refiner, const Scratch& scratch);
  void keep_best(std::span<core::Candidate> candidates) noexcept;
  /// Candidates that belong to the k best take their places there; the best are k, and sorted.
  void insert(std::span<const core::Candidate> candidates) noexcept;

  RowCapacity capacity_{};
  Pending* pending_ = nullptr;
  core::Candidate* best_ = nullptr;
  Index pending_count_ = 0;
  Index best_count_ = 0;
  Index next_compaction_ = 0;  // pending pairs at which it is due
  Index computed_ = 0;         // leading pending pairs that are candidates already: refine_before()
  bool best_sorted_ = false;
  float tau_ = 0;
};

}  // namespace tessera::select
