// SPDX-License-Identifier: Apache-2.0
// AVX-512 (F, BW, DQ, VL): 32 registers of 16 floats or 8 doubles.
#pragma once

#include "tessera/rows.hpp"

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
  static F64x16 load(const float* p) noexcept { return {half(p), half(p + 8)}; }
  static __m512d half(const double* p) noexcept { return _mm512_loadu_pd(p); }
  static __m512d half(const float* p) noexcept { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
  /// Eight values in both halves.
  template <class T>
  static F64x16 twice(const T* p) noexcept {
    const __m512d eight = half(p);
    return {eight, eight};
  }
  static F64x16 broadcast(double x) noexcept { return {_mm512_set1_pd(x), _mm512_set1_pd(x)}; }
  static F64x16 zero() noexcept { return broadcast(0.0); }
  /// Lanes added at distances 8, 4, 2, 1.
  double sum() const noexcept {
    const __m512d eight = _mm512_add_pd(lo, hi);
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  static F64x16 add(F64x16 a, F64x16 b) noexcept { return {_mm512_add_pd(a.lo, b.lo), _mm512_add_pd(a.hi, b.hi)}; }
  static F64x16 sub(F64x16 a, F64x16 b) noexcept { return {_mm512_sub_pd(a.lo, b.lo), _mm512_sub_pd(a.hi, b.hi)}; }
  static F64x16 mul(F64x16 a, F64x16 b) noexcept { return {_mm512_mul_pd(a.lo, b.lo), _mm512_mul_pd(a.hi, b.hi)}; }
  static F64x16 div(F64x16 a, F64x16 b) noexcept { return {_mm512_div_pd(a.lo, b.lo), _mm512_div_pd(a.hi, b.hi)}; }
  static F64x16 abs(F64x16 a) noexcept { return {_mm512_abs_pd(a.lo), _mm512_abs_pd(a.hi)}; }
  static F64x16 max(F64x16 a, F64x16 b) noexcept { return {_mm512_max_pd(a.lo, b.lo), _mm512_max_pd(a.hi, b.hi)}; }
  /// x where a > b, else +0.
  static F64x16 where_greater(F64x16 a, F64x16 b, F64x16 x) noexcept {
    return {_mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a.lo, b.lo, _CMP_GT_OQ), x.lo),
            _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a.hi, b.hi, _CMP_GT_OQ), x.hi)};
  }
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

/// Eight samples j of y on their way along n < m samples of x: i = floor(jn/m), and the widths of the two segments of each.
class QuantileSteps {
 public:
  QuantileSteps(Index n, Index m, Index j) noexcept
      : n_(_mm512_set1_pd(static_cast<double>(n))), m_(_mm512_set1_pd(static_cast<double>(m))),
        rest_step_(_mm512_set1_pd(static_cast<double>(8 * n % m))), place_step_(_mm512_set1_epi64(8 * n / m)) {
    double rest[8];
    Index place[8];
    for (Index k = 0; k < 8; ++k) {
      rest[k] = static_cast<double>((j + k) * n % m);
      place[k] = (j + k) * n / m;
    }
    rest_ = _mm512_loadu_pd(rest);
    place_ = _mm512_loadu_si512(place);
  }

  void next() noexcept {
    rest_ = _mm512_add_pd(rest_, rest_step_);
    const __mmask8 past = _mm512_cmp_pd_mask(rest_, m_, _CMP_GE_OQ);
    rest_ = _mm512_mask_sub_pd(rest_, past, rest_, m_);
    place_ = _mm512_add_epi64(place_, place_step_);
    place_ = _mm512_mask_add_epi64(place_, past, place_, _mm512_set1_epi64(1));
  }

  F64x16 widths() const noexcept {
    const __m512d first = _mm512_min_pd(_mm512_sub_pd(m_, rest_), n_);
    return {first, _mm512_sub_pd(n_, first)};
  }

  /// x_i in the lower half, x_{i+1} in the upper: i rises by 0 or 1 from lane to lane, so eight in a row hold them all.
  template <class T>
  F64x16 values(const T* x) const noexcept {
    const Index base = _mm_cvtsi128_si64(_mm512_castsi512_si128(place_));
    const __m512i at = _mm512_sub_epi64(place_, _mm512_set1_epi64(base));
    return {_mm512_permutexvar_pd(at, F64x16::half(x + base)), _mm512_permutexvar_pd(at, F64x16::half(x + base + 1))};
  }

 private:
  __m512d n_, m_, rest_step_, rest_;
  __m512i place_step_, place_;
};

}  // namespace tessera::kernels::avx512
