// SPDX-License-Identifier: Apache-2.0
#define TESSERA_ISA_HAS_BF16 0
#include "kernels/cpu/contract.hpp"
#include "kernels/cpu/simd_avx512_vnni.hpp"
#include "metrics/elements.hpp"

namespace tessera::kernels::avx512_vnni {
#include "kernels/cpu/generic_table.inc"
}  // namespace tessera::kernels::avx512_vnni
