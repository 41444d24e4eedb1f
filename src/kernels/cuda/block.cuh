// SPDX-License-Identifier: Apache-2.0
// Here: what a block of threads does with a list in common: find the n-th smallest, keep some, sort. Every thread of the block calls, with
// the same arguments, and gets the same answer. Not here: what lists mean (select.cuh).
#pragma once

#include "kernels/cuda/params.hpp"
#include "kernels/cuda/simt.hpp"

namespace tessera::cuda {

/// Bits in an order of integers: negative ones turned round, positive ones above them.
TESSERA_DEVICE std::uint64_t ordered(float value) {
  const unsigned bits = simt::bits_of(value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
TESSERA_DEVICE float restored(std::uint64_t order) {
  const auto bits = static_cast<unsigned>(order);
  return simt::float_of((bits & 0x80000000u) != 0 ? bits & 0x7fffffffu : ~bits);
}
TESSERA_DEVICE std::uint64_t ordered(double value) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const std::uint64_t bits = simt::bits_of(value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

/// (key, id) ascending, as core::Candidate.
TESSERA_DEVICE bool before(const Candidate& a, const Candidate& b) {
  if (a.key != b.key) return a.key < b.key;
  return static_cast<std::uint64_t>(a.id) < static_cast<std::uint64_t>(b.id);
}

struct Nth {
  std::uint64_t value;
  unsigned rank;   // among those that are equal to it
  unsigned equal;  // how many are
};

/// The digit that the value of `rank` has, from how often each occurs. One warp.
TESSERA_DEVICE void find_digit(SelectShared& s, unsigned rank) {
  const unsigned* mine = s.counts + 8 * simt::lane();
  unsigned sum = 0;
  for (unsigned i = 0; i < 8; ++i) sum += mine[i];
  unsigned through = sum;  // of the lanes up to this one
  for (unsigned step = 1; step < simt::kWarp; step *= 2) {
    const unsigned other = simt::shuffle_up(simt::kAllLanes, through, step);
    if (simt::lane() >= step) through += other;
  }
  unsigned below = through - sum;
  if (rank < below || rank >= through) return;  // one lane is left
  unsigned i = 0;
  while (rank >= below + mine[i]) below += mine[i++];
  s.digit = 8 * simt::lane() + i;
  s.rank = rank - below;
  s.equal = mine[i];
}

/// The value at `rank` of those that get(i, value) gives for i < n (it says false for those that do not count), were they sorted.
/// Values are whole numbers of `bytes` bytes. rank < how many count.
///
/// cost     `bytes` passes over the list, whatever the values.
template <class Get>
TESSERA_DEVICE Nth nth_smallest(SelectShared& s, unsigned n, unsigned rank, unsigned bytes, Get get) {
  Nth found{0, rank, 0};
  for (unsigned done = 0; done < bytes; ++done) {
    const unsigned shift = 8 * (bytes - 1 - done);
    for (unsigned i = simt::thread(); i < 256; i += simt::threads()) s.counts[i] = 0;
    simt::sync();
    for (unsigned i = simt::thread(); i < n; i += simt::threads()) {
      std::uint64_t value = 0;
      if (!get(i, value)) continue;
      if (done > 0 && (value ^ found.value) >> (shift + 8) != 0) continue;
      simt::atomic_add(s.counts + (value >> shift & 255u), 1u);
    }
    simt::sync();
    if (simt::warp() == 0) find_digit(s, found.rank);
    simt::sync();
    found.value |= static_cast<std::uint64_t>(s.digit) << shift;
    found.rank = s.rank;
    found.equal = s.equal;
  }
  return found;
}

/// Moves the items that keep(item) likes to the front, in order.
/// returns  how many there are.
template <class T, class Keep>
TESSERA_DEVICE unsigned keep_if(SelectShared& s, T* items, unsigned n, Keep keep) {
  unsigned kept = 0;
  for (unsigned first = 0; first < n; first += simt::threads()) {
    const unsigned i = first + simt::thread();
    T item{};
    bool stays = false;
    if (i < n) {
      item = items[i];
      stays = keep(item);
    }
    const unsigned mask = simt::ballot(simt::kAllLanes, stays);
    if (simt::lane() == 0) s.warp_sums[simt::warp()] = simt::count_bits(mask);
    simt::sync();  // all have read their items: now they may be overwritten
    unsigned at = kept + simt::count_bits(mask & ((1u << simt::lane()) - 1));
    for (unsigned w = 0; w < simt::threads() / simt::kWarp; ++w) {
      if (w < simt::warp()) at += s.warp_sums[w];
      kept += s.warp_sums[w];
    }
    if (stays) items[at] = item;
    simt::sync();  // before sums and items of the next round
  }
  return kept;
}

/// Sorts by (key, id). Bitonic with mirrored first steps: every comparison puts the smaller in front, so that the list may have any
/// length, as if it went on with infinities.
TESSERA_DEVICE void sort_candidates(Candidate* list, unsigned n) {
  for (std::uint64_t size = 2; size < 2 * static_cast<std::uint64_t>(n); size *= 2) {
    for (std::uint64_t step = size / 2; step > 0; step /= 2) {
      const auto turn = static_cast<unsigned>(step == size / 2 ? size - 1 : step);
      for (unsigned i = simt::thread(); i < n; i += simt::threads()) {
        const unsigned j = i ^ turn;
        if (j <= i || j >= n) continue;
        const Candidate a = list[i];
        const Candidate b = list[j];
        if (!before(b, a)) continue;
        list[i] = b;
        list[j] = a;
      }
      simt::sync();
    }
  }
}

}  // namespace tessera::cuda
