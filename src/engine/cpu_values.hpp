// SPDX-License-Identifier: Apache-2.0
// Here: the evaluators of full values on the CPU, one a metric kind, and the table that chooses one. Not here: arithmetic
// (kernels/), packing (prepare/value_rows), the tile loop (engine/run_values).
//
// To add an evaluator: implement core::PreparedValues in a file of its own (engine/NAME_values.cpp), declare its maker here and name
// it in make_cpu_values(). It may keep what it likes; it owes values that depend on the two rows alone.
#pragma once

#include <memory>

#include "core/values.hpp"
#include "kernels/cpu/contract.hpp"

namespace tessera::engine {

/// The evaluator of a metric.
std::unique_ptr<core::PreparedValues> make_cpu_values(const kernels::CpuKernels& kernels, const core::ValuesProblem& problem);

/// Metrics that are sums over elements (kernels/): l2, sqeuclidean, inner_product, cosine, l1, linf.
std::unique_ptr<core::PreparedValues> make_element_values(const kernels::CpuKernels& kernels, const core::ValuesProblem& problem);

/// Distributions: wasserstein.
std::unique_ptr<core::PreparedValues> make_wasserstein_values(const kernels::CpuKernels& kernels, const core::ValuesProblem& problem);

}  // namespace tessera::engine
