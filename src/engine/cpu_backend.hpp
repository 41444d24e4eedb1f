// SPDX-License-Identifier: Apache-2.0
// Here: the CPU's side of the backend interface: it holds kernels, packed segments and row states together.
// Not here: arithmetic (kernels/), selection (select/), bounds (metrics/bound).
#pragma once

#include <memory>

#include "core/backend.hpp"
#include "kernels/cpu/contract.hpp"

namespace tessera::engine {

std::unique_ptr<core::Backend> make_cpu_backend(const kernels::CpuKernels& kernels, int threads);

}  // namespace tessera::engine
