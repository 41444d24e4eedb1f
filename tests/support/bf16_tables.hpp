// SPDX-License-Identifier: Apache-2.0
// Here: the kernel sets that screen in bf16, the processor's instruction replaced by others where it has none.
#pragma once

#include <vector>

#include "kernels/cpu/contract.hpp"
#include "support/cpu.hpp"
#include "support/isas.hpp"

#ifdef TESSERA_TEST_EMULATED_ISAS
namespace tessera::kernels::emulated_bf16 {
const CpuKernels& table() noexcept;  // kernels/emulated_bf16.cpp
}
#endif

namespace tessera::testing {

inline std::vector<const kernels::CpuKernels*> bf16_tables() {
  std::vector<const kernels::CpuKernels*> all;
  for (const std::string& isa : isas()) {
    if (kernels_of(isa).bf16_screen != nullptr) all.push_back(&kernels_of(isa));
  }
#ifdef TESSERA_TEST_EMULATED_ISAS
  if (support::cpu_features().avx512) all.push_back(&kernels::emulated_bf16::table());
#endif
  return all;
}

}  // namespace tessera::testing
