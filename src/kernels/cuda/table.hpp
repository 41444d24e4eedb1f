// SPDX-License-Identifier: Apache-2.0
// Here: the kernels as the CUDA runtime launches them, by KernelId. Not here: launching (runtime.cpp).
#pragma once

#include <cstddef>

#include "kernels/cuda/device.hpp"

namespace tessera::cuda {

struct KernelEntry {
  const char* name;
  const void* function;      // for cudaLaunchKernel; takes one struct by value
  std::size_t params_bytes;
  unsigned most_threads;     // of a block
};

/// kernels.cu.
const KernelEntry& kernel_entry(KernelId id) noexcept;
int kernel_count() noexcept;

}  // namespace tessera::cuda
