// SPDX-License-Identifier: Apache-2.0
// Kernel B: one query row's way to its k nearest on the device. It takes the hits of a screen, lowers the row's threshold, drops what is
// past it, and computes exactly what there is no room for: select/row_state.hpp for a block of threads. Not here: scores (screen.cuh).
#pragma once

#include "kernels/cuda/block.cuh"
#include "kernels/cuda/elements.cuh"

namespace tessera::cuda {

// --- canonical sums, by sixteen threads a pair ---------------------------------------------------------------------------

inline constexpr unsigned kLanes = 16;

/// lanes16 of docs/numerics.md: lane j takes the terms j, j + 16, ..., then lanes join at distances 8, 4, 2, 1. Terms past d would be
/// zeros, which add nothing. Sixteen threads of a warp call; all get the sum.
template <class Element, class T>
TESSERA_DEVICE double lanes16(const double* x, const T* y, unsigned d) {
  const unsigned mask = 0xffffu << (simt::lane() & kLanes);
  double acc = 0;
  for (unsigned t = simt::thread() % kLanes; t < d; t += kLanes) acc = Element::step(acc, x[t], static_cast<double>(y[t]));
  for (unsigned w = kLanes / 2; w > 0; w /= 2) acc = join<Element>(acc, simt::shuffle_xor(mask, acc, w));
  return simt::add(acc, 0.0);  // so that -0 never leaves
}

template <class T>
TESSERA_DEVICE double canonical_sum(metrics::Element element, const double* x, const T* y, unsigned d) {
  switch (element) {
    case metrics::Element::squared_difference: return lanes16<SquaredDifference>(x, y, d);
    case metrics::Element::product: return lanes16<Product>(x, y, d);
    case metrics::Element::absolute_difference: return lanes16<AbsoluteDifference>(x, y, d);
    case metrics::Element::maximum_difference: break;
  }
  return lanes16<MaximumDifference>(x, y, d);
}

TESSERA_DEVICE Candidate exact_candidate(const RefineRows& p, const double* query, std::uint32_t position) {
  const std::size_t first = static_cast<std::size_t>(position) * p.d;
  const double sum = p.base_f32 != nullptr ? canonical_sum(p.element, query, p.base_f32 + first, p.d)
                                           : canonical_sum(p.element, query, p.base_f64 + first, p.d);
  const std::uint32_t row = p.row_of_position != nullptr ? p.row_of_position[position] : position;
  return {metrics::key_of_sum(p.keys.form, sum), p.first_id + row};
}

// --- one row ------------------------------------------------------------------------------------------------------------

/// A row as its block of threads works on it. Every member is for all threads to call together.
class SelectRow {
 public:
  TESSERA_DEVICE SelectRow(const SelectParams& p, unsigned r, SelectShared& shared)
      : p_(p), s_(shared), row_(p.arrays.rows[r]), query_(p.refine.queries + static_cast<std::size_t>(r) * p.refine.query_stride),
        bounds_(p.arrays.bounds + r), hits_(p.arrays.hits + static_cast<std::size_t>(r) * p.arrays.hit_capacity),
        pending_(p.arrays.pending + static_cast<std::size_t>(r) * p.arrays.pending_capacity),
        best_(p.arrays.best + static_cast<std::size_t>(r) * (p.arrays.k + p.arrays.batch)) {}

  TESSERA_DEVICE const RowState& state() const { return row_; }
  TESSERA_DEVICE bool overflowed() const { return overflowed_; }
  TESSERA_DEVICE unsigned refined() const { return refined_; }

  /// Takes `found` hits, of which only as many as there is room for were stored.
  TESSERA_DEVICE void take_hits(unsigned found) {
    const bool overflow = found > p_.arrays.hit_capacity;
    const unsigned count = overflow ? p_.arrays.hit_capacity : found;
    for (unsigned i = simt::thread(); i < count; i += simt::threads()) {
      const Hit hit = hits_[i];
      pending_[row_.pending + i] = bracket(hit);
    }
    settle(count, overflow);
  }

  /// Takes all of the columns at hand.
  TESSERA_DEVICE unsigned take_every() {
    const std::uint32_t own = row_.own_position;
    const bool meets_itself = own >= p_.every_first && own < p_.every_last;
    const unsigned count = p_.every_last - p_.every_first - (meets_itself ? 1 : 0);
    for (unsigned i = simt::thread(); i < count; i += simt::threads()) {
      const std::uint32_t position = p_.every_first + i;
      pending_[row_.pending + i] = unbounded(meets_itself && position >= own ? position + 1 : position);
    }
    settle(count, false);
    return count;
  }

  /// Computes all that is left and writes the k best.
  TESSERA_DEVICE void finish(Candidate* list) {
    if (row_.pending > 0) {
      lower_threshold(row_.pending);
      drop_past_threshold();
    }
    refine_pending();
    Candidate* sorted = best_;
    if (row_.best <= kSortedInShared) {
      sorted = s_.sorting;
      for (unsigned i = simt::thread(); i < row_.best; i += simt::threads()) sorted[i] = best_[i];
      simt::sync();
    }
    sort_candidates(sorted, row_.best);
    for (unsigned i = simt::thread(); i < p_.arrays.k; i += simt::threads()) {
      list[i] = i < row_.best ? sorted[i] : Candidate{static_cast<double>(metrics::bound_detail::kInfinity), -1};
    }
  }

 private:
  TESSERA_DEVICE static Pending unbounded(std::uint32_t position) {
    return {-metrics::bound_detail::kInfinity, metrics::bound_detail::kInfinity, position};
  }

  TESSERA_DEVICE Pending bracket(const Hit& hit) const {
    if (row_.kind == RowKind::bypass) return unbounded(hit.position);
    return {bounds_->lower(hit.score), bounds_->upper(hit.score), hit.position};
  }

  /// `count` pairs stand behind those that were pending. What did not all fit helps the threshold, and is then forgotten: the columns are
  /// screened again.
  TESSERA_DEVICE void settle(unsigned count, bool overflow) {
    simt::sync();
    const unsigned all = row_.pending + count;
    if (overflow || all > p_.arrays.trigger || row_.tau == metrics::bound_detail::kInfinity) lower_threshold(all);
    overflowed_ = overflow;
    row_.owed = row_.owed || overflow;  // until the columns have been screened again, all of them
    row_.pending = overflow ? row_.pending : all;
    if (overflow || row_.pending > p_.arrays.trigger) drop_past_threshold();
    if (row_.pending <= p_.arrays.trigger) return;
    refine_pending();
    lower_threshold(0);
  }

  /// To the k-th smallest upper bound of `pending` pending pairs and the candidates. All stand for different base rows.
  TESSERA_DEVICE void lower_threshold(unsigned pending) {
    const unsigned known = pending + row_.best;
    if (known < p_.arrays.k) return;
    const metrics::KeyScale& keys = p_.refine.keys;
    const auto upper = [&](unsigned i, std::uint64_t& value) {
      value = ordered(i < pending ? pending_[i].upper : keys.z_above(best_[i - pending].key));
      return true;
    };
    const float z = keys.widest(restored(nth_smallest(s_, known, p_.arrays.k - 1, sizeof(float), upper).value));
    row_.tau = z < row_.tau ? z : row_.tau;
  }

  TESSERA_DEVICE void drop_past_threshold() {
    const float tau = row_.tau;
    row_.pending = keep_if(s_, pending_, row_.pending, [tau](const Pending& pair) { return !(pair.lower > tau); });
  }

  /// Moves all pending pairs to the candidates, a batch at a time.
  TESSERA_DEVICE void refine_pending() {
    while (row_.pending > 0) {
      const unsigned count = row_.pending < p_.arrays.batch ? row_.pending : p_.arrays.batch;
      const Pending* pairs = pending_ + (row_.pending - count);
      for (unsigned i = simt::thread() / kLanes; i < count; i += simt::threads() / kLanes) {
        const Candidate candidate = exact_candidate(p_.refine, query_, pairs[i].position);
        if (simt::thread() % kLanes == 0) best_[row_.best + i] = candidate;
      }
      simt::sync();
      row_.pending -= count;
      row_.best += count;
      refined_ += count;
      if (row_.best > p_.arrays.k) keep_best();
    }
  }

  TESSERA_DEVICE void keep_best() {
    const unsigned n = row_.best;
    const Candidate* all = best_;
    const Nth key = nth_smallest(s_, n, p_.arrays.k - 1, sizeof(double), [all](unsigned i, std::uint64_t& value) {
      value = ordered(all[i].key);
      return true;
    });
    std::uint64_t last_id = ~std::uint64_t{0};  // of those that have the last key
    if (key.rank + 1 < key.equal) {
      last_id = nth_smallest(s_, n, key.rank, sizeof(std::uint64_t), [all, key](unsigned i, std::uint64_t& value) {
                  value = static_cast<std::uint64_t>(all[i].id);
                  return ordered(all[i].key) == key.value;
                }).value;
    }
    row_.best = keep_if(s_, best_, n, [key, last_id](const Candidate& c) {
      const std::uint64_t order = ordered(c.key);
      return order < key.value || (order == key.value && static_cast<std::uint64_t>(c.id) <= last_id);
    });
  }

  const SelectParams& p_;
  SelectShared& s_;
  RowState row_;
  const double* query_;                  // [query_stride]
  const metrics::PairBound* bounds_;
  const Hit* hits_;                      // [hit_capacity]
  Pending* pending_;                     // [pending_capacity]
  Candidate* best_;                      // [k + batch]
  bool overflowed_ = false;
  unsigned refined_ = 0;
};

/// Thread block x: the first candidates of row x, which RowState::best counts.
TESSERA_DEVICE void seed_row(const SeedParams& p) {
  const unsigned r = simt::block_x();
  const unsigned count = p.arrays.rows[r].best;
  const Candidate* list = p.lists + static_cast<std::size_t>(r) * p.arrays.k;
  Candidate* best = p.arrays.best + static_cast<std::size_t>(r) * (p.arrays.k + p.arrays.batch);
  for (unsigned i = simt::thread(); i < count; i += simt::threads()) best[i] = list[i];
}

/// Thread block x: row x. Threads: whole warps, kMostSelectThreads at most; shared memory: a SelectShared.
TESSERA_DEVICE void select_row(const SelectParams& p) {
  auto& shared = *reinterpret_cast<SelectShared*>(simt::shared_memory());
  const unsigned r = simt::block_x();
  const unsigned found = p.arrays.hit_counts[r];
  const bool every = p.every_first < p.every_last && p.arrays.rows[r].kind != RowKind::unsearched;
  if (found == 0 && !every && !p.finish) return;
  SelectRow row(p, r, shared);
  unsigned survivors = found;
  if (found > 0) row.take_hits(found);
  if (every) survivors += row.take_every();
  if (p.finish) row.finish(p.lists + static_cast<std::size_t>(r) * p.arrays.k);
  if (simt::thread() != 0) return;
  // Every way here has met a barrier: all have read what is now written.
  p.arrays.rows[r] = row.state();
  p.arrays.hit_counts[r] = 0;
  if (row.overflowed()) {
    simt::atomic_add(p.any_owed, 1u);
  } else {
    simt::atomic_add(p.counts, std::uint64_t{survivors});
  }
  simt::atomic_add(p.counts + 1, std::uint64_t{row.refined()});
}

}  // namespace tessera::cuda
