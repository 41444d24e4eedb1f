// SPDX-License-Identifier: Apache-2.0
// Here: plans for rows that are distributions, of any length each. Not here: plans for vectors (plan.hpp).
#pragma once

#include "engine/plan.hpp"

namespace tessera::engine {

/// Lays out a base of distributions: sorted copies within three quarters of the budget, a segment at a time.
core::BasePlan plan_distributions(const RowSet& base, const core::DeviceInfo& device, const Wishes& wishes, bool whole);

/// Lays out queries against it.
core::QueryPlan plan_distribution_queries(const RowSet& queries, const RowSet& base, const core::BasePlan& plan, const core::DeviceInfo& device,
                                          const Wishes& wishes);

}  // namespace tessera::engine
