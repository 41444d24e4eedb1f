// SPDX-License-Identifier: Apache-2.0
// The table of avx512_bf16 with VDPBF16PS and VPDPBUSD replaced by others of the same result, so that AVX-512 processors without them
// run everything else of that instruction set.
#include <immintrin.h>

#define TESSERA_ISA_HAS_BF16 1
#define avx512_bf16 emulated_bf16
#include "kernels/cpu/contract.hpp"

namespace tessera::kernels::emulated_bf16 {
namespace {

/// Subnormal numbers become zero, whatever MXCSR says.
inline __m512 flushed(__m512 x) noexcept {
  const __mmask16 small = _mm512_cmp_ps_mask(_mm512_abs_ps(x), _mm512_set1_ps(0x1p-126f), _CMP_LT_OQ);
  return _mm512_maskz_mov_ps(static_cast<__mmask16>(~small), x);
}

/// Intel SDM, VDPBF16PS: to every float the product of the upper halves of two words, then that of the lower halves; rounded to nearest
/// even each time, subnormal inputs and outputs being zero.
inline __m512 dpbf16(__m512 sums, __m512bh a, __m512bh b) noexcept {
  const auto x = reinterpret_cast<__m512i>(a);
  const auto y = reinterpret_cast<__m512i>(b);
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  const auto half = [](__m512i bits) { return flushed(_mm512_castsi512_ps(bits)); };
  const __m512 odd = flushed(_mm512_fmadd_ps(half(_mm512_and_si512(x, upper)), half(_mm512_and_si512(y, upper)), flushed(sums)));
  return flushed(_mm512_fmadd_ps(half(_mm512_slli_epi32(x, 16)), half(_mm512_slli_epi32(y, 16)), odd));
}

#include "kernels/emulated_dpbusd.inc"

}  // namespace
}  // namespace tessera::kernels::emulated_bf16

#define _mm512_dpbf16_ps dpbf16
#define _mm512_dpbusd_epi32 dpbusd
#include "kernels/cpu/simd_avx512_bf16.hpp"
#include "metrics/elements.hpp"

namespace tessera::kernels::emulated_bf16 {
#include "kernels/cpu/generic_table.inc"
}  // namespace tessera::kernels::emulated_bf16
