// SPDX-License-Identifier: Apache-2.0
// Here: every status of the CUDA runtime becomes an Error that says what was asked and what to do.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "support/fail.hpp"

namespace tessera::cuda {

/// "what: an illegal memory access was encountered (cudaErrorIllegalAddress)", with advice.
[[noreturn]] void fail_status(cudaError_t status, const std::string& what);

/// throws   Error{out_of_memory} where memory ran out, Error{unsupported} where this build has no code for the device, else Error{device}.
template <class... Args>
void check(cudaError_t status, fmt::format_string<Args...> what, Args&&... args) {
  if (status != cudaSuccess) fail_status(status, fmt::format(what, std::forward<Args>(args)...));
}

}  // namespace tessera::cuda
