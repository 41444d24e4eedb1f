// SPDX-License-Identifier: Apache-2.0
// Here: a CUDA device's side of the backend interface. Not here: the device (kernels/cuda/device.hpp), kernels, the CPU's work on rows
// before they leave (prepare/).
#pragma once

#include <memory>

#include "core/backend.hpp"
#include "kernels/cpu/contract.hpp"
#include "kernels/cuda/device.hpp"
#include "metrics/traits.hpp"

namespace tessera::engine {

struct CudaSettings {
  int lanes = 3;      // blocks of queries on the device at a time: one comes in, one is worked on, one goes out
  Index hits = 0;     // of a row and launch; 0: from k. For tests
};

/// Whether the backend has kernels for a metric's neighbours.
bool cuda_searches(const metrics::MetricTraits& traits) noexcept;

/// kernels: the host's, for rows on their way to the device.
std::unique_ptr<core::Backend> make_cuda_backend(std::shared_ptr<cuda::Device> device, const kernels::CpuKernels& kernels,
                                                 const CudaSettings& settings = {});

}  // namespace tessera::engine
