// SPDX-License-Identifier: Apache-2.0
// Here: one call from options to a full matrix in a sink: executor, backend, plan, segments. Not here: the tile loop (run.hpp).
#pragma once

#include "core/values.hpp"
#include "tessera/distances.hpp"

namespace tessera::engine {

DistanceReport evaluate_matrix(const core::ValuesProblem& problem, const DistanceOptions& options, DistanceSink& sink);
DistanceReport plan_matrix(const core::ValuesProblem& problem, const DistanceOptions& options);

}  // namespace tessera::engine
