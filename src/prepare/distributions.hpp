// SPDX-License-Identifier: Apache-2.0
// Here: rows of any type become sorted distributions. Not here: distances between them (engine/quantile_pairs).
#pragma once

#include <memory>
#include <string_view>

#include "core/distributions.hpp"
#include "core/executor.hpp"
#include "core/tile.hpp"
#include "kernels/cpu/contract.hpp"
#include "prepare/bad_rows.hpp"

namespace tessera::prepare {

/// Reads, checks and sorts rows [range.first, range.last) of a set.
///
/// returns  one Distribution a row, numbered from range.first. Atoms of weight 0 are dropped; equal weights count as none; weights
///          that an exact power of two turns into integers become those integers; many equal integers become runs.
/// cost     O(n log n) a row, rows in parallel; 8 bytes a sample (4 where float32 holds the type), 8 more for weights.
/// throws   Error{malformed_input} naming the distribution (its id) and the sample: empty, NaN or infinite (unless skipped),
///          beyond 2^500, a weight that is negative or not finite, weights that are all 0.
std::unique_ptr<core::Distributions> sort_distributions(const kernels::CpuKernels& kernels, const RowSet& rows, core::Range range, const BadRows& nan,
                                                        std::string_view what, core::Executor& executor);

/// Bytes that sorting rows [first, last) will take, at most.
std::uint64_t distribution_bytes(const RowSet& rows, core::Range range) noexcept;

}  // namespace tessera::prepare
