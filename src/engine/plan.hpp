// SPDX-License-Identifier: Apache-2.0
// Here: pure functions from sizes to plans. Not here: anything that runs, reads a clock or looks at data.
#pragma once

#include "core/plan.hpp"
#include "core/problem.hpp"
#include "metrics/traits.hpp"

namespace tessera::engine {

/// The caller's wishes, from KnnOptions.
struct Wishes {
  Screen screen = Screen::automatic;
  Schedule schedule = Schedule::automatic;
  Pruning prune = Pruning::automatic;
  Symmetry symmetric = Symmetry::automatic;
  Index tile = 0;
  std::uint64_t memory = 0;  // bytes, already resolved
};

/// Up to this dimension, and from this many rows on, boxes around compact tiles are worth their making. Measured (docs/performance.md).
inline constexpr Index kPrunedUpTo = 6;
inline constexpr Index kPrunedFrom = 2048;

/// Past this dimension gamma = d u / (1 - d u) is no longer small (at 2^24 it is infinite): pairs are computed in double.
inline constexpr Index kLargestScreenedCols = Index{1} << 22;

/// Bytes that ordering takes for a row of d columns: coordinates twice, two permutations, keys.
std::uint64_t order_bytes(Index d) noexcept;

/// Below these, the 8-bit screen is not considered: its epilogue is longer, and a sample costs time. Measured (docs/performance.md).
inline constexpr Index kInt8From = 64;
inline constexpr Index kInt8FromRows = 4096;
/// Products of elements, queries x base x columns, from which a look at the data is taken first: some ten times its cost.
inline constexpr double kLookFrom = 1e10;

/// Past this dimension sums of 8-bit products might leave 32 bits: 3 * 127^2 * 2^15 < 2^31.
inline constexpr Index kLargestInt8Cols = Index{1} << 15;

/// Lays out a base. whole: one segment, or Error{out_of_memory} saying what it would take (a prepared base is kept whole).
core::BasePlan plan_base(Index n, Index d, const metrics::MetricTraits& traits, const core::DeviceInfo& device, const Wishes& wishes,
                         bool whole);

/// Lays out nq queries against it.
core::QueryPlan plan_queries(Index nq, Index nb, Index d, Index k, const core::BasePlan& base, const core::DeviceInfo& device,
                             const Wishes& wishes);

}  // namespace tessera::engine
