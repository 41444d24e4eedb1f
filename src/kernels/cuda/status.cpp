// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/status.hpp"

namespace tessera::cuda {

void fail_status(cudaError_t status, const std::string& what) {
  const std::string seen = fmt::format("CUDA, {}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
  switch (status) {
    case cudaErrorMemoryAllocation:
      support::fail(ErrorCode::out_of_memory, "{}: lower the memory budget, free device memory that others hold, or use the cpu backend", seen);
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      support::fail(ErrorCode::unsupported, "{}: build with this device in TESSERA_CUDA_ARCHS, or use the cpu backend", seen);
    default:
      // Errors of running kernels are final for the process: the runtime answers every later call with the same status.
      support::fail(ErrorCode::device, "{}: the cpu backend gives the same answer", seen);
  }
}

}  // namespace tessera::cuda
