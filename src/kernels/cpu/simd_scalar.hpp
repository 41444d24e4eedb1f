// SPDX-License-Identifier: Apache-2.0
// No instruction set assumed: plain loops over small arrays, which a compiler may or may not vectorise. fp32 fmadd is a
// product and a sum in screens (the bound's gamma allows for both); in values and in double it is a true fma, in software
// where it must be.
#pragma once

#include "tessera/rows.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::kernels::scalar {

inline constexpr const char* kIsaName = "scalar";
inline constexpr int kPanelRows = 4;
inline constexpr int kPanelVectors = 2;

// Unnamed: what the compiler does not inline stays inside this object.
namespace {

/// 4 floats. Fused: fmadd rounds once, as it must where a chain is a value and not only a score.
template <bool Fused>
struct Lanes4 {
  using Mask = unsigned;
  static constexpr int kWidth = 4;
  float v[kWidth];

  template <class Op>
  static Lanes4 map(Op op) noexcept { return {{op(0), op(1), op(2), op(3)}}; }

  static Lanes4 load(const float* p) noexcept { return map([=](int i) { return p[i]; }); }
  static Lanes4 broadcast(float x) noexcept { return {{x, x, x, x}}; }
  static Lanes4 zero() noexcept { return broadcast(0.0f); }
  static Lanes4 add(const Lanes4& a, const Lanes4& b) noexcept { return map([&](int i) { return a.v[i] + b.v[i]; }); }
  static Lanes4 sub(const Lanes4& a, const Lanes4& b) noexcept { return map([&](int i) { return a.v[i] - b.v[i]; }); }
  static Lanes4 mul(const Lanes4& a, const Lanes4& b) noexcept { return map([&](int i) { return a.v[i] * b.v[i]; }); }
  static Lanes4 sqrt(const Lanes4& a) noexcept { return map([&](int i) { return __builtin_sqrtf(a.v[i]); }); }
  static Lanes4 abs(const Lanes4& a) noexcept { return map([&](int i) { return __builtin_fabsf(a.v[i]); }); }
  static Lanes4 max(const Lanes4& a, const Lanes4& b) noexcept { return map([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; }); }
  /// b where either is NaN.
  static Lanes4 min(const Lanes4& a, const Lanes4& b) noexcept { return map([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; }); }
  static Lanes4 fmadd(const Lanes4& a, const Lanes4& b, const Lanes4& c) noexcept {
    if constexpr (Fused) return map([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
    return map([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
  }
  static Lanes4 fnmadd(const Lanes4& a, const Lanes4& b, const Lanes4& c) noexcept { return map([&](int i) { return c.v[i] - a.v[i] * b.v[i]; }); }
  void store(float* p) const noexcept {
    for (int i = 0; i < kWidth; ++i) p[i] = v[i];
  }
  void store_half(std::uint16_t* p) const noexcept {
    for (int i = 0; i < kWidth; ++i) p[i] = half_of(v[i]);
  }

  static Mask all() noexcept { return 0xf; }
  static Mask greater(Mask among, const Lanes4& a, const Lanes4& b) noexcept {
    Mask m = 0;
    for (int i = 0; i < kWidth; ++i) m |= static_cast<Mask>(a.v[i] > b.v[i]) << i;
    return among & m;
  }
  static Mask both(Mask a, Mask b) noexcept { return a & b; }
  static unsigned bits(Mask m) noexcept { return m; }

  /// Stores the lanes of `open` and their numbers, or what stands at them, one after the other.
  void keep(unsigned open, std::uint32_t first, float* scores, std::uint32_t* positions) const noexcept {
    keep_numbered(open, scores, positions, [=](unsigned lane) { return first + lane; });
  }
  void keep(unsigned open, const std::uint32_t* from, float* scores, std::uint32_t* positions) const noexcept {
    keep_numbered(open, scores, positions, [=](unsigned lane) { return from[lane]; });
  }
  template <class Number>
  void keep_numbered(unsigned open, float* scores, std::uint32_t* positions, Number number) const noexcept {
    for (unsigned lane = 0; lane < kWidth; ++lane) {
      if ((open >> lane & 1u) == 0) continue;
      *scores++ = v[lane];
      *positions++ = number(lane);
    }
  }
  /// The lanes of x that are less than a, else zero.
  static Lanes4 where_greater(const Lanes4& a, const Lanes4& x) noexcept { return map([&](int i) { return a.v[i] > x.v[i] ? x.v[i] : 0.0f; }); }
  float most() const noexcept {
    float m = v[0];
    for (int i = 1; i < kWidth; ++i) m = v[i] > m ? v[i] : m;
    return m;
  }

 private:
  /// The nearest IEEE half, ties to even: rounds at the half's last place by adding and subtracting a power of two.
  static std::uint16_t half_of(float value) noexcept {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
    const float magnitude = __builtin_fabsf(value);
    if (!(magnitude < 65520.0f)) return static_cast<std::uint16_t>(sign | (magnitude == magnitude ? 0x7c00u : 0x7e00u));
    if (magnitude < 0x1p-14f) return static_cast<std::uint16_t>(sign | static_cast<unsigned>(__builtin_nearbyintf(magnitude * 0x1p24f)));
    std::uint32_t m;
    __builtin_memcpy(&m, &magnitude, sizeof m);
    m += 0x0fffu + (m >> 13 & 1u);  // 13 bits fall away
    return static_cast<std::uint16_t>(sign | ((m >> 13) - (112u << 10)));
  }
};
using F32 = Lanes4<false>;
using ValueF32 = Lanes4<true>;

/// As many doubles as F32 has floats.
struct Wide {
  double v[4];

  template <class Op>
  static Wide map(Op op) noexcept { return {{op(0), op(1), op(2), op(3)}}; }

  static Wide of(const ValueF32& a) noexcept { return map([&](int i) { return static_cast<double>(a.v[i]); }); }
  static Wide load(const double* p) noexcept { return map([=](int i) { return p[i]; }); }
  static Wide broadcast(double x) noexcept { return {{x, x, x, x}}; }
  static Wide add(const Wide& a, const Wide& b) noexcept { return map([&](int i) { return a.v[i] + b.v[i]; }); }
  static Wide fnmadd(const Wide& a, const Wide& b, const Wide& c) noexcept { return map([&](int i) { return __builtin_fma(-a.v[i], b.v[i], c.v[i]); }); }
  void store(double* p) const noexcept {
    for (int i = 0; i < 4; ++i) p[i] = v[i];
  }
  ValueF32 narrow() const noexcept {
    return {{static_cast<float>(v[0]), static_cast<float>(v[1]), static_cast<float>(v[2]), static_cast<float>(v[3])}};
  }
};

inline constexpr int kInt8Levels = 127;
inline constexpr int kInt8GroupSum = 0;  // no limit
inline constexpr int kInt8Chain = 1;

/// 4 sums of products of unsigned and signed bytes.
struct I32 {
  struct Word {
    unsigned char bytes[4];
  };
  std::int32_t v[F32::kWidth];

  static I32 load(const std::int32_t* p) noexcept { return {{p[0], p[1], p[2], p[3]}}; }
  static Word broadcast(const float* p) noexcept {
    Word w;
    __builtin_memcpy(&w, p, sizeof w);
    return w;
  }
  template <int Words>
  static I32 dot(const I32& acc, const Word (&q)[Words], const float* base, std::int64_t) noexcept {
    static_assert(Words == 1);
    signed char b[F32::kWidth * 4];
    __builtin_memcpy(b, base, sizeof b);
    I32 sum = acc;
    for (int i = 0; i < F32::kWidth * 4; ++i) sum.v[i / 4] += q[0].bytes[i % 4] * b[i];
    return sum;
  }
  F32 to_float() const noexcept {
    return F32::map([&](int i) { return static_cast<float>(v[i]); });
  }
};

/// 4 pairs of bf16, multiplied and added as floats: for tests, and for processors that are not x86.
struct Bf16Pairs {
  std::uint32_t v[F32::kWidth];

  static Bf16Pairs load(const float* p) noexcept {
    Bf16Pairs pairs;
    __builtin_memcpy(pairs.v, p, sizeof pairs.v);
    return pairs;
  }
  static Bf16Pairs broadcast(const float* p) noexcept {
    std::uint32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return {{word, word, word, word}};
  }
  static float widened(std::uint32_t bits) noexcept {
    float f;
    __builtin_memcpy(&f, &bits, sizeof f);
    return f;
  }
  static F32 dot(const F32& sum, const Bf16Pairs& a, const Bf16Pairs& b) noexcept {
    return F32::map([&](int i) {
      const float odd = sum.v[i] + widened(a.v[i] & 0xffff0000U) * widened(b.v[i] & 0xffff0000U);
      return odd + widened(a.v[i] << 16) * widened(b.v[i] << 16);
    });
  }
};

/// 16 doubles: the lanes of lanes16.
struct F64x16 {
  double v[16];

  template <class Op>
  static F64x16 map(Op op) noexcept {
    F64x16 r;
    for (int i = 0; i < 16; ++i) r.v[i] = op(i);
    return r;
  }

  static F64x16 load(const double* p) noexcept { return map([=](int i) { return p[i]; }); }
  static F64x16 load(const float* p) noexcept { return map([=](int i) { return static_cast<double>(p[i]); }); }
  /// Eight values in both halves.
  template <class T>
  static F64x16 twice(const T* p) noexcept {
    return map([=](int i) { return static_cast<double>(p[i % 8]); });
  }
  static F64x16 broadcast(double x) noexcept { return map([=](int) { return x; }); }
  static F64x16 zero() noexcept { return broadcast(0.0); }
  /// Lanes added at distances 8, 4, 2, 1.
  double sum() const noexcept {
    double lanes[16];
    for (int j = 0; j < 16; ++j) lanes[j] = v[j];
    for (int w = 8; w > 0; w /= 2) {
      for (int j = 0; j < w; ++j) lanes[j] += lanes[j + w];
    }
    return lanes[0];
  }
  static F64x16 add(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return a.v[i] + b.v[i]; }); }
  static F64x16 sub(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return a.v[i] - b.v[i]; }); }
  static F64x16 mul(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return a.v[i] * b.v[i]; }); }
  static F64x16 div(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return a.v[i] / b.v[i]; }); }
  static F64x16 abs(const F64x16& a) noexcept { return map([&](int i) { return __builtin_fabs(a.v[i]); }); }
  static F64x16 max(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; }); }
  /// x where a > b, else +0.
  static F64x16 where_greater(const F64x16& a, const F64x16& b, const F64x16& x) noexcept {
    return map([&](int i) { return a.v[i] > b.v[i] ? x.v[i] : 0.0; });
  }
  static F64x16 fmadd(const F64x16& a, const F64x16& b, const F64x16& c) noexcept {
    return map([&](int i) { return __builtin_fma(a.v[i], b.v[i], c.v[i]); });
  }
  /// Sums over 0, 1, 4, 5, 8, 9, 12, 13 and over 2, 3, 6, 7, 10, 11, 14, 15, each in some lanes.
  F64x16 group_sums() const noexcept {
    return map([&](int i) { return ((v[i % 2 * 2] + v[i % 2 * 2 + 1]) + (v[i % 2 * 2 + 4] + v[i % 2 * 2 + 5])) +
                                   ((v[i % 2 * 2 + 8] + v[i % 2 * 2 + 9]) + (v[i % 2 * 2 + 12] + v[i % 2 * 2 + 13])); });
  }
  void store(double* p) const noexcept {
    for (int i = 0; i < 16; ++i) p[i] = v[i];
  }
  /// Rounds to integers, stores them as bytes, and returns them.
  F64x16 round_to_bytes(std::int8_t* p) const noexcept {
    return map([&](int i) {
      const double r = __builtin_nearbyint(v[i]);
      p[i] = static_cast<std::int8_t>(r);
      return r;
    });
  }
  /// Rounds to float, stores, and returns what was stored.
  F64x16 narrow(float* p) const noexcept {
    return map([&](int i) {
      p[i] = static_cast<float>(v[i]);
      return static_cast<double>(p[i]);
    });
  }
};

/// Eight samples j of y on their way along n < m samples of x: i = floor(jn/m), and the widths of the two segments of each.
class QuantileSteps {
 public:
  QuantileSteps(Index n, Index m, Index j) noexcept : n_(n), m_(m) {
    for (Index k = 0; k < 8; ++k) {
      rest_[k] = (j + k) * n % m;
      place_[k] = (j + k) * n / m;
    }
  }

  void next() noexcept {
    for (int k = 0; k < 8; ++k) {
      rest_[k] += 8 * n_ % m_;
      const Index past = rest_[k] >= m_ ? 1 : 0;
      rest_[k] -= past * m_;
      place_[k] += 8 * n_ / m_ + past;
    }
  }

  F64x16 widths() const noexcept {
    return F64x16::map([&](int k) {
      const Index rest = m_ - rest_[k % 8];
      const Index first = rest < n_ ? rest : n_;
      return static_cast<double>(k < 8 ? first : n_ - first);
    });
  }

  /// x_i in the lower half, x_{i+1} in the upper.
  template <class T>
  F64x16 values(const T* x) const noexcept {
    return F64x16::map([&](int k) { return static_cast<double>(x[place_[k % 8] + k / 8]); });
  }

 private:
  Index n_, m_;
  Index rest_[8], place_[8];
};

}  // namespace
}  // namespace tessera::kernels::scalar
