// SPDX-License-Identifier: Apache-2.0
// AVX2 + FMA: 16 registers of 8 floats or 4 doubles.
#pragma once

#include "tessera/rows.hpp"

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

  /// Stores the lanes of `open` and their numbers, or what stands at them, one after the other.
  void keep(unsigned open, std::uint32_t first, float* scores, std::uint32_t* positions) const noexcept {
    keep_numbered(open, scores, positions, [=](unsigned lane) { return first + lane; });
  }
  void keep(unsigned open, const std::uint32_t* from, float* scores, std::uint32_t* positions) const noexcept {
    keep_numbered(open, scores, positions, [=](unsigned lane) { return from[lane]; });
  }
  template <class Number>
  void keep_numbered(unsigned open, float* scores, std::uint32_t* positions, Number number) const noexcept {
    float lanes[kWidth];
    store(lanes);
    for (; open != 0; open &= open - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctz(open));
      *scores++ = lanes[lane];
      *positions++ = number(lane);
    }
  }
  /// The lanes of x that are less than a, else zero.
  static F32 where_greater(F32 a, F32 x) noexcept { return {_mm256_and_ps(_mm256_cmp_ps(a.v, x.v, _CMP_GT_OQ), x.v)}; }
  float most() const noexcept {
    float lanes[kWidth];
    store(lanes);
    float m = lanes[0];
    for (int i = 1; i < kWidth; ++i) m = lanes[i] > m ? lanes[i] : m;
    return m;
  }
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

// As in simd_avx512.hpp.
inline constexpr int kInt8Levels = 80;
inline constexpr int kInt8GroupSum = 204;
inline constexpr int kInt8Chain = 4;

/// 8 sums of products of unsigned and signed bytes.
struct I32 {
  using Word = __m256i;
  __m256i v;

  static I32 load(const std::int32_t* p) noexcept { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
  static Word broadcast(const float* p) noexcept {
    int word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm256_set1_epi32(word);
  }
  template <int Words>
  static I32 dot(I32 acc, const Word (&q)[Words], const float* base, std::int64_t stride) noexcept {
    __m256i sum = _mm256_maddubs_epi16(q[0], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(base)));
#pragma GCC unroll 4
    for (int m = 1; m < Words; ++m) {
      sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(q[m], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(base + m * stride))));
    }
    return {_mm256_add_epi32(acc.v, _mm256_madd_epi16(sum, _mm256_set1_epi16(1)))};
  }
  F32 to_float() const noexcept { return {_mm256_cvtepi32_ps(v)}; }
};

/// 16 doubles: the lanes of lanes16.
struct F64x16 {
  __m256d q[4];

  template <class Op>
  static F64x16 map(Op op) noexcept { return {{op(0), op(1), op(2), op(3)}}; }

  static F64x16 load(const double* p) noexcept { return map([=](int i) { return _mm256_loadu_pd(p + 4 * i); }); }
  static F64x16 load(const float* p) noexcept { return map([=](int i) { return quarter(p + 4 * i); }); }
  static __m256d quarter(const double* p) noexcept { return _mm256_loadu_pd(p); }
  static __m256d quarter(const float* p) noexcept { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  /// Eight values in both halves.
  template <class T>
  static F64x16 twice(const T* p) noexcept {
    const __m256d a = quarter(p);
    const __m256d b = quarter(p + 4);
    return {{a, b, a, b}};
  }
  static F64x16 broadcast(double x) noexcept { return map([=](int) { return _mm256_set1_pd(x); }); }
  static F64x16 zero() noexcept { return broadcast(0.0); }
  /// Lanes added at distances 8, 4, 2, 1.
  double sum() const noexcept {
    const __m256d four = _mm256_add_pd(_mm256_add_pd(q[0], q[2]), _mm256_add_pd(q[1], q[3]));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  static F64x16 add(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return _mm256_add_pd(a.q[i], b.q[i]); }); }
  static F64x16 sub(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return _mm256_sub_pd(a.q[i], b.q[i]); }); }
  static F64x16 mul(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return _mm256_mul_pd(a.q[i], b.q[i]); }); }
  static F64x16 div(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return _mm256_div_pd(a.q[i], b.q[i]); }); }
  static F64x16 abs(const F64x16& a) noexcept { return map([&](int i) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a.q[i]); }); }
  static F64x16 max(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return _mm256_max_pd(a.q[i], b.q[i]); }); }
  /// x where a > b, else +0.
  static F64x16 where_greater(const F64x16& a, const F64x16& b, const F64x16& x) noexcept {
    return map([&](int i) { return _mm256_and_pd(_mm256_cmp_pd(a.q[i], b.q[i], _CMP_GT_OQ), x.q[i]); });
  }
  static F64x16 fmadd(const F64x16& a, const F64x16& b, const F64x16& c) noexcept {
    return map([&](int i) { return _mm256_fmadd_pd(a.q[i], b.q[i], c.q[i]); });
  }
  /// Sums over 0, 1, 4, 5, 8, 9, 12, 13 and over 2, 3, 6, 7, 10, 11, 14, 15, each in some lanes.
  F64x16 group_sums() const noexcept {
    const __m256d s = _mm256_add_pd(_mm256_add_pd(q[0], q[1]), _mm256_add_pd(q[2], q[3]));
    return map([&](int) { return _mm256_hadd_pd(s, s); });
  }
  void store(double* p) const noexcept {
    for (int i = 0; i < 4; ++i) _mm256_storeu_pd(p + 4 * i, q[i]);
  }
  /// Rounds to integers, stores them as bytes, and returns them.
  F64x16 round_to_bytes(std::int8_t* p) const noexcept {
    return map([&](int i) {
      const __m128i words = _mm256_cvtpd_epi32(q[i]);
      const __m128i bytes = _mm_packs_epi16(_mm_packs_epi32(words, words), words);
      const int four = _mm_cvtsi128_si32(bytes);
      __builtin_memcpy(p + 4 * i, &four, sizeof four);
      return _mm256_cvtepi32_pd(words);
    });
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

/// Eight samples j of y on their way along n < m samples of x: i = floor(jn/m), and the widths of the two segments of each.
class QuantileSteps {
 public:
  QuantileSteps(Index n, Index m, Index j) noexcept
      : n_(_mm256_set1_pd(static_cast<double>(n))), m_(_mm256_set1_pd(static_cast<double>(m))),
        rest_step_(_mm256_set1_pd(static_cast<double>(8 * n % m))), place_step_(_mm256_set1_epi64x(8 * n / m)) {
    double rest[8];
    Index place[8];
    for (Index k = 0; k < 8; ++k) {
      rest[k] = static_cast<double>((j + k) * n % m);
      place[k] = (j + k) * n / m;
    }
    for (int g = 0; g < 2; ++g) {
      rest_[g] = _mm256_loadu_pd(rest + 4 * g);
      place_[g] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(place + 4 * g));
    }
  }

  void next() noexcept {
    for (int g = 0; g < 2; ++g) {
      rest_[g] = _mm256_add_pd(rest_[g], rest_step_);
      const __m256d past = _mm256_cmp_pd(rest_[g], m_, _CMP_GE_OQ);  // all ones: -1 as an integer
      rest_[g] = _mm256_sub_pd(rest_[g], _mm256_and_pd(past, m_));
      place_[g] = _mm256_sub_epi64(_mm256_add_epi64(place_[g], place_step_), _mm256_castpd_si256(past));
    }
  }

  F64x16 widths() const noexcept {
    const __m256d a = _mm256_min_pd(_mm256_sub_pd(m_, rest_[0]), n_);
    const __m256d b = _mm256_min_pd(_mm256_sub_pd(m_, rest_[1]), n_);
    return {{a, b, _mm256_sub_pd(n_, a), _mm256_sub_pd(n_, b)}};
  }

  /// x_i in the lower half, x_{i+1} in the upper: i rises by 0 or 1 from lane to lane, so four in a row hold those of four.
  template <class T>
  F64x16 values(const T* x) const noexcept {
    F64x16 out;
    for (int g = 0; g < 2; ++g) {
      const Index base = _mm256_extract_epi64(place_[g], 0);
      // Doubles are moved as pairs of floats: 2d and 2d + 1.
      const __m256i twice = _mm256_slli_epi64(_mm256_sub_epi64(place_[g], _mm256_set1_epi64x(base)), 1);
      const __m256i at = _mm256_or_si256(twice, _mm256_slli_epi64(_mm256_add_epi64(twice, _mm256_set1_epi64x(1)), 32));
      auto moved = [&](const T* p) { return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(F64x16::quarter(p)), at)); };
      out.q[g] = moved(x + base);
      out.q[g + 2] = moved(x + base + 1);
    }
    return out;
  }

 private:
  __m256d n_, m_, rest_step_, rest_[2];
  __m256i place_step_, place_[2];
};

}  // namespace tessera::kernels::avx2
