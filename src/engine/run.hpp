// SPDX-License-Identifier: Apache-2.0
// Here: the only tile loop. Not here: what a tile does (backends), where lists go (sinks), how large tiles are (plan).
#pragma once

#include "core/backend.hpp"
#include "engine/control.hpp"

namespace tessera::engine {

/// Takes all queries through one segment.
/// carry    [nq, k] lists of earlier segments, or null.
/// sink     gets every query's list over the segment and carry.
core::WorkCounts run_topk(const core::PreparedBaseBackend& base, const core::PreparedSegment& segment, const core::QueryProblem& queries,
                          const core::BasePlan& base_plan, const core::QueryPlan& plan, const core::Candidate* carry, core::ListSink& sink,
                          core::Executor& executor, Control& control);

}  // namespace tessera::engine
