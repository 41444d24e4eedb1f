// SPDX-License-Identifier: Apache-2.0
// The table of avx512_vnni with its one VNNI instruction replaced by others of the same result, so that AVX-512 processors
// without it run everything else of that instruction set.
#include <immintrin.h>

#define TESSERA_ISA_HAS_BF16 0
#define avx512_vnni emulated_vnni
#include "kernels/cpu/contract.hpp"

namespace tessera::kernels::emulated_vnni {
namespace {

/// vpdpbusd: to every 32-bit sum, four products of an unsigned and a signed byte.
inline __m512i dpbusd(__m512i sums, __m512i bytes, __m512i signed_bytes) noexcept {
  // 255 * -128 fits 16 bits.
  const __m512i even = _mm512_mullo_epi16(_mm512_and_si512(bytes, _mm512_set1_epi16(0xff)), _mm512_srai_epi16(_mm512_slli_epi16(signed_bytes, 8), 8));
  const __m512i odd = _mm512_mullo_epi16(_mm512_srli_epi16(bytes, 8), _mm512_srai_epi16(signed_bytes, 8));
  const __m512i ones = _mm512_set1_epi16(1);
  return _mm512_add_epi32(sums, _mm512_add_epi32(_mm512_madd_epi16(even, ones), _mm512_madd_epi16(odd, ones)));
}

}  // namespace
}  // namespace tessera::kernels::emulated_vnni

#define _mm512_dpbusd_epi32 dpbusd
#include "kernels/cpu/simd_avx512_vnni.hpp"
#include "metrics/elements.hpp"

namespace tessera::kernels::emulated_vnni {
#include "kernels/cpu/generic_table.inc"
}  // namespace tessera::kernels::emulated_vnni
