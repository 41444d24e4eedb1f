// SPDX-License-Identifier: Apache-2.0
// Here: sorted distributions, as everything behind prepare/ sees them. Not here: sorting (prepare/), distances (engine/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/aligned_buffer.hpp"
#include "tessera/rows.hpp"

namespace tessera::core {

/// How sorted values are stored: the narrowest type that holds them exactly.
enum class ValueType : std::uint8_t { f32, f64, wide };  // wide: 64-bit integers beyond 2^53

/// Behind every array of values and ends stand this many more: the last value again, and ends that are infinite. Kernels may read them.
inline constexpr Index kPadding = 16;

/// One distribution: atoms in ascending order. Without weights every sample is an atom.
struct Distribution {
  const void* values = nullptr;        // [size], ascending, of type `type`
  const double* cumulative = nullptr;  // [size], ascending; the last is `total`. Null: atom i ends at i + 1. Parts of 1 unless whole
  Index size = 0;                      // atoms; 0: left out (NanPolicy::skip)
  double total = 0;                    // of the weights; the number of samples without them
  double lowest = 0;                   // first and last value, rounded
  double highest = 0;
  ValueType type = ValueType::f64;
  bool whole_values = false;           // all values are integers
  bool whole_weights = true;           // cumulative holds integers of at most 2^53
  bool runs = false;                   // atoms are runs of equal samples: total samples without weights
  bool biased = false;                 // wide: values are stored less 2^63 (uint64)
};

/// A set of distributions, sorted. Immutable once built.
struct Distributions {
  std::vector<Distribution> rows;
  std::vector<support::AlignedBuffer<std::byte>> storage;  // what rows point into
  std::vector<Index> skipped;                              // rows without an answer, ascending
  Index longest = 0;                                       // samples of the longest, runs counted out
  Index longest_atoms = 0;

  std::uint64_t bytes() const noexcept {
    std::uint64_t sum = rows.size() * sizeof(Distribution);
    for (const auto& block : storage) sum += block.bytes();
    return sum;
  }
};

}  // namespace tessera::core
