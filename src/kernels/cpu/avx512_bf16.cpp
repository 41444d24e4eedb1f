// SPDX-License-Identifier: Apache-2.0
#define TESSERA_ISA_HAS_BF16 1
#include "kernels/cpu/contract.hpp"
#include "kernels/cpu/simd_avx512_bf16.hpp"
#include "metrics/elements.hpp"

namespace tessera::kernels::avx512_bf16 {
#include "kernels/cpu/generic_table.inc"
}  // namespace tessera::kernels::avx512_bf16
