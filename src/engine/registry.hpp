// SPDX-License-Identifier: Apache-2.0
// Here: which instruction sets and backends this build has and this machine can run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend.hpp"
#include "kernels/cpu/contract.hpp"

namespace tessera::engine {

std::vector<std::string> isas_built();
std::vector<std::string> isas_usable();

/// The best usable kernels, or those that TESSERA_FORCE_ISA names.
/// throws   Error{invalid_argument} when it names none, Error{unsupported} when this CPU cannot run it.
const kernels::CpuKernels& select_kernels();

/// threads is the executor's, for plans.
/// throws   Error{unsupported} for cuda where the build or the machine has none.
std::unique_ptr<core::Backend> make_backend(BackendKind kind, int threads);

}  // namespace tessera::engine
