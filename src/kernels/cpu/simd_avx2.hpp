// SPDX-License-Identifier: Apache-2.0
// AVX2 + FMA: 16 registers of 8 floats or 4 doubles.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tessera::kernels::avx2 {

inline constexpr const char* kIsaName = "avx2";
inline constexpr int kPanelRows = 4;     // 4 x 3 accumulators + 3 base vectors + 1 broadcast of 16 registers
inline constexpr int kPanelVectors = 3;

/// 8 floats.
struct F32 {
  using Mask = __m256;  // all ones or all zeros in a lane
  static constexpr int kWidth = 8;
  __m256 v;

  static F32 load(const float* p) noexcept { return {_mm256_loadu_ps(p)}; }
  static F32 broadcast(float x) noexcept { return {_mm256_set1_ps(x)}; }
  static F32 zero() noexcept { return {_mm256_setzero_ps()}; }
  static F32 add(F32 a, F32 b) noexcept { return {_mm256_add_ps(a.v, b.v)}; }
  static F32 sub(F32 a, F32 b) noexcept { return {_mm256_sub_ps(a.v, b.v)}; }
  static F32 mul(F32 a, F32 b) noexcept { return {_mm256_mul_ps(a.v, b.v)}; }
  static F32 sqrt(F32 a) noexcept { return {_mm256_sqrt_ps(a.v)}; }
  static F32 abs(F32 a) noexcept { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
  static F32 max(F32 a, F32 b) noexcept { return {_mm256_max_ps(a.v, b.v)}; }
  static F32 min(F32 a, F32 b) noexcept { return {_mm256_min_ps(a.v, b.v)}; }  // b where either is NaN
  static F32 fmadd(F32 a, F32 b, F32 c) noexcept { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  static F32 fnmadd(F32 a, F32 b, F32 c) noexcept { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
  void store(float* p) const noexcept { _mm256_storeu_ps(p, v); }
  void store_half(std::uint16_t* p) const noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  static Mask all() noexcept { return _mm256_castsi256_ps(_mm256_set1_epi32(-1)); }
  static Mask greater(Mask among, F32 a, F32 b) noexcept {
    return _mm256_and_ps(among, _mm256_cmp_ps(a.v, b.v, _CMP_GT_OQ));
  }
  static Mask both(Mask a, Mask b) noexcept { return _mm256_and_ps(a, b); }
  static unsigned bits(Mask m) noexcept { return static_cast<unsigned>(_mm256_movemask_ps(m)); }
};

using ValueF32 = F32;  // fmadd rounds once

/// As many doubles as F32 has floats.
struct Wide {
  __m256d lo, hi;

  static Wide of(F32 a) noexcept {
    return {_mm256_cvtps_pd(_mm256_castps256_ps128(a.v)), _mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1))};
  }
  static Wide load(const double* p) noexcept { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
  static Wide broadcast(double x) noexcept { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
  static Wide add(Wide a, Wide b) noexcept { return {_mm256_add_pd(a.lo, b.lo), _mm256_add_pd(a.hi, b.hi)}; }
  static Wide fnmadd(Wide a, Wide b, Wide c) noexcept { return {_mm256_fnmadd_pd(a.lo, b.lo, c.lo), _mm256_fnmadd_pd(a.hi, b.hi, c.hi)}; }
  void store(double* p) const noexcept {
    _mm256_storeu_pd(p, lo);
    _mm256_storeu_pd(p + 4, hi);
  }
  F32 narrow() const noexcept { return {_mm256_set_m128(_mm256_cvtpd_ps(hi), _mm256_cvtpd_ps(lo))}; }
};

/// 16 doubles: the lanes of lanes16.
struct F64x16 {
  __m256d q[4];

  template <class Op>
  static F64x16 map(Op op) noexcept { return {{op(0), op(1), op(2), op(3)}}; }

  static F64x16 load(const double* p) noexcept { return map([=](int i) { return _mm256_loadu_pd(p + 4 * i); }); }
  static F64x16 broadcast(double x) noexcept { return map([=](int) { return _mm256_set1_pd(x); }); }
  static F64x16 zero() noexcept { return broadcast(0.0); }
  static F64x16 add(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return _mm256_add_pd(a.q[i], b.q[i]); }); }
  static F64x16 sub(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return _mm256_sub_pd(a.q[i], b.q[i]); }); }
  static F64x16 mul(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return _mm256_mul_pd(a.q[i], b.q[i]); }); }
  static F64x16 div(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return _mm256_div_pd(a.q[i], b.q[i]); }); }
  static F64x16 abs(const F64x16& a) noexcept { return map([&](int i) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a.q[i]); }); }
  static F64x16 max(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return _mm256_max_pd(a.q[i], b.q[i]); }); }
  static F64x16 fmadd(const F64x16& a, const F64x16& b, const F64x16& c) noexcept {
    return map([&](int i) { return _mm256_fmadd_pd(a.q[i], b.q[i], c.q[i]); });
  }
  void store(double* p) const noexcept {
    for (int i = 0; i < 4; ++i) _mm256_storeu_pd(p + 4 * i, q[i]);
  }
  /// Rounds to float, stores, and returns what was stored.
  F64x16 narrow(float* p) const noexcept {
    return map([&](int i) {
      const __m128 f = _mm256_cvtpd_ps(q[i]);
      _mm_storeu_ps(p + 4 * i, f);
      return _mm256_cvtps_pd(f);
    });
  }
};

}  // namespace tessera::kernels::avx2
