// SPDX-License-Identifier: Apache-2.0
// The table of avx512_vnni with its one VNNI instruction replaced by others of the same result, so that AVX-512 processors
// without it run everything else of that instruction set.
#include <immintrin.h>

#define TESSERA_ISA_HAS_BF16 0
#define avx512_vnni emulated_vnni
#include "kernels/cpu/contract.hpp"

namespace tessera::kernels::emulated_vnni {
namespace {

#include "kernels/emulated_dpbusd.inc"

}  // namespace
}  // namespace tessera::kernels::emulated_vnni

#define _mm512_dpbusd_epi32 dpbusd
#include "kernels/cpu/simd_avx512_vnni.hpp"
#include "metrics/elements.hpp"

namespace tessera::kernels::emulated_vnni {
#include "kernels/cpu/generic_table.inc"
}  // namespace tessera::kernels::emulated_vnni
