// SPDX-License-Identifier: Apache-2.0
// Here: whether a search of a set in itself computes each pair of rows once, from sizes. Not here: anything that runs.
#pragma once

#include "engine/plan.hpp"

namespace tessera::engine {

/// From this many rows on `auto` takes the symmetric schedule. Chosen so that blocks are several; no speed was measured so low.
inline constexpr Index kSymmetricFrom = 8192;

/// As many blocks are wanted, each large enough: a block's own pairs are computed both ways. The tile's size is measured (docs/performance.md).
inline constexpr Index kSymmetricBlocks = 80;
inline constexpr Index kSymmetricTile = 1000;

/// Lays out anew, with as many blocks, a base that was planned for other searches and is not prepared yet.
void plan_symmetric_tiles(Index n, const core::DeviceInfo& device, const Wishes& wishes, core::BasePlan& base) noexcept;

/// Turns the plan of n queries into a symmetric one where that is wished, or possible and likely to pay.
/// itself  the queries are the rows of the base, with the same ids.
/// throws  Error, only where it was asked for: unsupported, out_of_memory.
void plan_symmetric(bool itself, Index n, Index k, const core::BasePlan& base, const core::DeviceInfo& device, const Wishes& wishes, core::QueryPlan& plan);

}  // namespace tessera::engine
