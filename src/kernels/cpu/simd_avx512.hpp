// SPDX-License-Identifier: Apache-2.0
// AVX-512 (F, BW, DQ, VL).
#pragma once

#include "tessera/rows.hpp"

#include <immintrin.h>

#include <cstdint>

namespace tessera::kernels::avx512 {

inline constexpr const char* kIsaName = "avx512";

#include "kernels/cpu/simd_avx512_types.inc"

// maddubs sums in 16 bits: 2 * 80 * 204 = 32,640 fits. Adding four of them before they are widened makes 9 instructions for 256
// products, where fp32 takes 16. 80 and 204 share the rounding between query and base rows of normal data about equally.
inline constexpr int kInt8Levels = 80;
inline constexpr int kInt8GroupSum = 204;
inline constexpr int kInt8Chain = 4;

template <int Words>
inline I32 I32::dot(I32 acc, const Word (&q)[Words], const float* base, std::int64_t stride) noexcept {
  __m512i sum = _mm512_maddubs_epi16(q[0], _mm512_loadu_si512(base));
#pragma GCC unroll 4
  for (int m = 1; m < Words; ++m) sum = _mm512_add_epi16(sum, _mm512_maddubs_epi16(q[m], _mm512_loadu_si512(base + m * stride)));
  return {_mm512_add_epi32(acc.v, _mm512_madd_epi16(sum, _mm512_set1_epi16(1)))};
}

}  // namespace tessera::kernels::avx512
