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

template <int Words>
inline I32 I32::dot(I32 acc, const Word (&q)[Words], const float* base, std::int64_t) noexcept {
  static_assert(Words == 1);
  return {_mm512_dpbusd_epi32(acc.v, q[0], _mm512_loadu_si512(base))};
}

}  // namespace tessera::kernels::avx512_vnni
