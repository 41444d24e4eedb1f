// SPDX-License-Identifier: Apache-2.0
// Here: the only tile loop. Not here: what a tile does (backends), where lists go (sinks), how large tiles are (plan).
#pragma once

#include "core/backend.hpp"
#include "engine/control.hpp"

namespace tessera::engine {

/// Takes queries through one segment.
/// places   of the queries taken (core/problem.hpp).
/// carry    [nq, k] lists of earlier segments, or null.
/// sink     gets every query's list over the segment and carry.
core::WorkCounts run_topk(const core::PreparedBaseBackend& base, const core::PreparedSegment& segment, const core::QueryProblem& queries,
                          core::Range places, const core::BasePlan& base_plan, const core::QueryPlan& plan, const core::Candidate* carry, core::ListSink& sink,
                          core::Executor& executor, Control& control);

/// Takes the rows of the one segment, which are the queries, through it by a symmetric plan: each pair of rows is computed once.
core::WorkCounts run_symmetric(const core::PreparedBaseBackend& base, const core::PreparedSegment& segment, const core::QueryProblem& queries,
                               const core::BasePlan& base_plan, const core::QueryPlan& plan, core::ListSink& sink, core::Executor& executor, Control& control);

struct ValuesTotals {
  Index tiles = 0;
  Index skipped = 0;
  double bytes = 0;
  core::ValuesCounts counts;
};

/// Takes every wanted tile of one segment to the sink.
/// units    row tiles, numbered through all batches, that this call (a shard) computes.
/// batches, cols   what the segment prepared.
ValuesTotals run_values(const core::PreparedValues& prepared, const core::ValuesSegment& segment, const core::ValuesPlan& plan, core::Range units,
                        core::Range batches, core::Range cols, DistanceSink& sink, core::Executor& executor, Control& control);

}  // namespace tessera::engine
