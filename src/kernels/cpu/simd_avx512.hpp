// SPDX-License-Identifier: Apache-2.0
// AVX-512 (F, BW, DQ, VL): 32 registers of 16 floats or 8 doubles.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tessera::kernels::avx512 {

inline constexpr const char* kIsaName = "avx512";
inline constexpr int kPanelRows = 8;     // 8 x 3 accumulators + 3 base vectors + 1 broadcast of 32 registers
inline constexpr int kPanelVectors = 3;

/// 16 floats.
struct F32 {
  using Mask = __mmask16;
  static constexpr int kWidth = 16;
  __m512 v;

  static F32 load(const float* p) noexcept { return {_mm512_loadu_ps(p)}; }
  static F32 broadcast(float x) noexcept { return {_mm512_set1_ps(x)}; }
  static F32 zero() noexcept { return {_mm512_setzero_ps()}; }
  static F32 add(F32 a, F32 b) noexcept { return {_mm512_add_ps(a.v, b.v)}; }
  static F32 sub(F32 a, F32 b) noexcept { return {_mm512_sub_ps(a.v, b.v)}; }
  static F32 mul(F32 a, F32 b) noexcept { return {_mm512_mul_ps(a.v, b.v)}; }
  static F32 sqrt(F32 a) noexcept { return {_mm512_sqrt_ps(a.v)}; }
  static F32 abs(F32 a) noexcept { return {_mm512_abs_ps(a.v)}; }
  static F32 max(F32 a, F32 b) noexcept { return {_mm512_max_ps(a.v, b.v)}; }
  static F32 min(F32 a, F32 b) noexcept { return {_mm512_min_ps(a.v, b.v)}; }  // b where either is NaN
  static F32 fmadd(F32 a, F32 b, F32 c) noexcept { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  static F32 fnmadd(F32 a, F32 b, F32 c) noexcept { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
  void store(float* p) const noexcept { _mm512_storeu_ps(p, v); }
  void store_half(std::uint16_t* p) const noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  static Mask all() noexcept { return 0xffff; }
  /// Lanes of `among` where a > b; false for NaN.
  static Mask greater(Mask among, F32 a, F32 b) noexcept { return _mm512_mask_cmp_ps_mask(among, a.v, b.v, _CMP_GT_OQ); }
  static Mask both(Mask a, Mask b) noexcept { return static_cast<Mask>(a & b); }
  static unsigned bits(Mask m) noexcept { return m; }
};

using ValueF32 = F32;  // fmadd rounds once

/// As many doubles as F32 has floats.
struct Wide {
  __m512d lo, hi;

  static Wide of(F32 a) noexcept {
    return {_mm512_cvtps_pd(_mm512_castps512_ps256(a.v)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1))};
  }
  static Wide load(const double* p) noexcept { return {_mm512_loadu_pd(p), _mm512_loadu_pd(p + 8)}; }
  static Wide broadcast(double x) noexcept { return {_mm512_set1_pd(x), _mm512_set1_pd(x)}; }
  static Wide add(Wide a, Wide b) noexcept { return {_mm512_add_pd(a.lo, b.lo), _mm512_add_pd(a.hi, b.hi)}; }
  static Wide fnmadd(Wide a, Wide b, Wide c) noexcept { return {_mm512_fnmadd_pd(a.lo, b.lo, c.lo), _mm512_fnmadd_pd(a.hi, b.hi, c.hi)}; }
  void store(double* p) const noexcept {
    _mm512_storeu_pd(p, lo);
    _mm512_storeu_pd(p + 8, hi);
  }
  F32 narrow() const noexcept {
    return {_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lo)), _mm512_cvtpd_ps(hi), 1)};
  }
};

/// 16 doubles: the lanes of lanes16.
struct F64x16 {
  __m512d lo, hi;

  static F64x16 load(const double* p) noexcept { return {_mm512_loadu_pd(p), _mm512_loadu_pd(p + 8)}; }
  static F64x16 broadcast(double x) noexcept { return {_mm512_set1_pd(x), _mm512_set1_pd(x)}; }
  static F64x16 zero() noexcept { return broadcast(0.0); }
  static F64x16 add(F64x16 a, F64x16 b) noexcept { return {_mm512_add_pd(a.lo, b.lo), _mm512_add_pd(a.hi, b.hi)}; }
  static F64x16 sub(F64x16 a, F64x16 b) noexcept { return {_mm512_sub_pd(a.lo, b.lo), _mm512_sub_pd(a.hi, b.hi)}; }
  static F64x16 mul(F64x16 a, F64x16 b) noexcept { return {_mm512_mul_pd(a.lo, b.lo), _mm512_mul_pd(a.hi, b.hi)}; }
  static F64x16 div(F64x16 a, F64x16 b) noexcept { return {_mm512_div_pd(a.lo, b.lo), _mm512_div_pd(a.hi, b.hi)}; }
  static F64x16 abs(F64x16 a) noexcept { return {_mm512_abs_pd(a.lo), _mm512_abs_pd(a.hi)}; }
  static F64x16 max(F64x16 a, F64x16 b) noexcept { return {_mm512_max_pd(a.lo, b.lo), _mm512_max_pd(a.hi, b.hi)}; }
  static F64x16 fmadd(F64x16 a, F64x16 b, F64x16 c) noexcept {
    return {_mm512_fmadd_pd(a.lo, b.lo, c.lo), _mm512_fmadd_pd(a.hi, b.hi, c.hi)};
  }
  void store(double* p) const noexcept {
    _mm512_storeu_pd(p, lo);
    _mm512_storeu_pd(p + 8, hi);
  }
  /// Rounds to float, stores, and returns what was stored.
  F64x16 narrow(float* p) const noexcept {
    const __m256 a = _mm512_cvtpd_ps(lo);
    const __m256 b = _mm512_cvtpd_ps(hi);
    _mm256_storeu_ps(p, a);
    _mm256_storeu_ps(p + 8, b);
    return {_mm512_cvtps_pd(a), _mm512_cvtps_pd(b)};
  }
};

}  // namespace tessera::kernels::avx512
