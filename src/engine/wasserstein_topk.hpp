// SPDX-License-Identifier: Apache-2.0
// Here: the CPU's side of the backend interface for distributions. Not here: sorting (prepare/), distances (quantile_pairs).
#pragma once

#include <memory>

#include "core/backend.hpp"
#include "kernels/cpu/contract.hpp"

namespace tessera::engine {

std::unique_ptr<core::PreparedBaseBackend> make_wasserstein_base(const kernels::CpuKernels& kernels, const core::BaseProblem& problem,
                                                                 const core::BasePlan& plan);

}  // namespace tessera::engine
