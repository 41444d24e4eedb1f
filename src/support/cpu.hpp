// SPDX-License-Identifier: Apache-2.0
// Here: what the processor and the operating system offer. Not here: which kernel is run (engine/registry).
#pragma once

#include <cstdint>

namespace tessera::support {

/// Instruction-set features that kernels ask for; each is true only if the operating system saves its registers too.
struct CpuFeatures {
  bool avx2_fma_f16c = false;
  bool avx512 = false;  // F, BW, DQ, VL
  bool vnni = false;    // AVX512_VNNI
  bool bf16 = false;    // AVX512_BF16
};
CpuFeatures cpu_features() noexcept;

std::int64_t l2_cache_bytes() noexcept;       ///< per core; 1 MiB when unknown
int usable_cores() noexcept;                  ///< the process's affinity mask
std::uint64_t available_memory() noexcept;    ///< bytes: free plus reclaimable, within the cgroup's limit

}  // namespace tessera::support
