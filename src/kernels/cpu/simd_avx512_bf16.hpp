// SPDX-License-Identifier: Apache-2.0
// AVX-512 with VNNI and BF16: vdpbf16ps sums products of two pairs, rounding to nearest at each, and flushes what is subnormal, whatever
// MXCSR says (Intel SDM, VDPBF16PS). Processors that have it have VNNI, too.
#pragma once

#include "tessera/rows.hpp"

#include <immintrin.h>

#include <cstdint>

namespace tessera::kernels::avx512_bf16 {

inline constexpr const char* kIsaName = "avx512_bf16";

#include "kernels/cpu/simd_avx512_types.inc"
#include "kernels/cpu/simd_avx512_dpbusd.inc"

/// 16 pairs of bf16.
struct Bf16Pairs {
  __m512i v;

  static Bf16Pairs load(const float* p) noexcept { return {_mm512_loadu_si512(p)}; }
  static Bf16Pairs broadcast(const float* p) noexcept { return {I32::broadcast(p)}; }
  static F32 dot(F32 sum, Bf16Pairs a, Bf16Pairs b) noexcept {
    return {_mm512_dpbf16_ps(sum.v, reinterpret_cast<__m512bh>(a.v), reinterpret_cast<__m512bh>(b.v))};
  }
};

}  // namespace tessera::kernels::avx512_bf16
