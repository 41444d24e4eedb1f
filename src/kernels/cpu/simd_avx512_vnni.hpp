// SPDX-License-Identifier: Apache-2.0
// AVX-512 with VNNI: vpdpbusd takes all 8 bits and sums in 32.
#pragma once

#include "tessera/rows.hpp"

#include <immintrin.h>

#include <cstdint>

namespace tessera::kernels::avx512_vnni {

inline constexpr const char* kIsaName = "avx512_vnni";

#include "kernels/cpu/simd_avx512_types.inc"

inline constexpr int kInt8Levels = 127;
inline constexpr int kInt8GroupSum = 0;  // no limit
inline constexpr int kInt8Chain = 1;

/// 16 sums of products of unsigned and signed bytes.
struct I32 {
  using Word = __m512i;
  __m512i v;

  static I32 load(const std::int32_t* p) noexcept { return {_mm512_loadu_si512(p)}; }
  static Word broadcast(const float* p) noexcept {
    int word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
  }
  template <int Words>
  static I32 dot(I32 acc, const Word (&q)[Words], const float* base, std::int64_t) noexcept {
    static_assert(Words == 1);
    return {_mm512_dpbusd_epi32(acc.v, q[0], _mm512_loadu_si512(base))};
  }
  F32 to_float() const noexcept { return {_mm512_cvtepi32_ps(v)}; }
};

}  // namespace tessera::kernels::avx512_vnni
