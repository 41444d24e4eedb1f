// SPDX-License-Identifier: Apache-2.0
// Here: how screens hand over what they could not dismiss. Not here: scores (screen.cuh, tensor.cuh), what becomes of hits (select.cuh).
#pragma once

#include "kernels/cuda/params.hpp"
#include "kernels/cuda/simt.hpp"

namespace tessera::cuda {

/// Appends the pairs of one row whose bits are set in `open`, of `Bits` bits: position(i), score(i). Rare.
template <unsigned Bits, class Position, class Score>
TESSERA_DEVICE void append_hits(const RowArrays& arrays, std::uint32_t columns, unsigned row, unsigned open, Position position, Score score) {
  const std::uint32_t own = arrays.rows[row].own_position;
TESSERA_UNROLL
  for (unsigned i = 0; i < Bits; ++i) {
    if (position(i) >= columns || position(i) == own) open &= ~(1u << i);  // a panel's filling; the query itself
  }
  if (open == 0) return;
  std::uint32_t slot = simt::atomic_add(arrays.hit_counts + row, simt::count_bits(open));
  Hit* hits = arrays.hits + static_cast<std::size_t>(row) * arrays.hit_capacity;
TESSERA_UNROLL
  for (unsigned i = 0; i < Bits; ++i) {
    if ((open >> i & 1u) == 0) continue;
    if (slot < arrays.hit_capacity) hits[slot] = {score(i), position(i)};  // the count tells of those that found no room
    ++slot;
  }
}

}  // namespace tessera::cuda
