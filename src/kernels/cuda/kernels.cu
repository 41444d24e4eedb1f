// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/kernels.cuh"
#include "kernels/cuda/table.hpp"

namespace tessera::cuda {
namespace {

#define TESSERA_CUDA_KERNEL(id, Params, threads, blocks, ...) \
  __global__ void __launch_bounds__(threads, blocks) kernel_##id(const __grid_constant__ Params params) { __VA_ARGS__(params); }
#include "kernels/cuda/kernels.def"
#undef TESSERA_CUDA_KERNEL

const KernelEntry kEntries[] = {
#define TESSERA_CUDA_KERNEL(id, Params, threads, blocks, ...) {#id, reinterpret_cast<const void*>(&kernel_##id), sizeof(Params), threads},
#include "kernels/cuda/kernels.def"
#undef TESSERA_CUDA_KERNEL
};

}  // namespace

const KernelEntry& kernel_entry(KernelId id) noexcept { return kEntries[static_cast<int>(id)]; }
int kernel_count() noexcept { return kKernelCount; }

}  // namespace tessera::cuda
