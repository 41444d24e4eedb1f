// SPDX-License-Identifier: Apache-2.0
// No instruction set assumed: plain loops over small arrays, which a compiler may or may not vectorise. fp32 fmadd is a
// product and a sum (the bound's gamma allows for both); the double one is a true fma, in software where it must be.
#pragma once

#include <cmath>

namespace tessera::kernels::scalar {

inline constexpr const char* kIsaName = "scalar";
inline constexpr int kPanelRows = 4;
inline constexpr int kPanelVectors = 2;

/// 4 floats.
struct F32 {
  using Mask = unsigned;
  static constexpr int kWidth = 4;
  float v[kWidth];

  template <class Op>
  static F32 map(Op op) noexcept { return {{op(0), op(1), op(2), op(3)}}; }

  static F32 load(const float* p) noexcept { return map([=](int i) { return p[i]; }); }
  static F32 broadcast(float x) noexcept { return {{x, x, x, x}}; }
  static F32 zero() noexcept { return broadcast(0.0f); }
  static F32 add(const F32& a, const F32& b) noexcept { return map([&](int i) { return a.v[i] + b.v[i]; }); }
  static F32 sub(const F32& a, const F32& b) noexcept { return map([&](int i) { return a.v[i] - b.v[i]; }); }
  static F32 abs(const F32& a) noexcept { return map([&](int i) { return __builtin_fabsf(a.v[i]); }); }
  static F32 max(const F32& a, const F32& b) noexcept { return map([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; }); }
  /// b where either is NaN.
  static F32 min(const F32& a, const F32& b) noexcept { return map([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; }); }
  static F32 fmadd(const F32& a, const F32& b, const F32& c) noexcept { return map([&](int i) { return a.v[i] * b.v[i] + c.v[i]; }); }
  static F32 fnmadd(const F32& a, const F32& b, const F32& c) noexcept { return map([&](int i) { return c.v[i] - a.v[i] * b.v[i]; }); }
  void store(float* p) const noexcept {
    for (int i = 0; i < kWidth; ++i) p[i] = v[i];
  }

  static Mask all() noexcept { return 0xf; }
  static Mask greater(Mask among, const F32& a, const F32& b) noexcept {
    Mask m = 0;
    for (int i = 0; i < kWidth; ++i) m |= static_cast<Mask>(a.v[i] > b.v[i]) << i;
    return among & m;
  }
  static Mask both(Mask a, Mask b) noexcept { return a & b; }
  static unsigned bits(Mask m) noexcept { return m; }
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
  static F64x16 broadcast(double x) noexcept { return map([=](int) { return x; }); }
  static F64x16 zero() noexcept { return broadcast(0.0); }
  static F64x16 add(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return a.v[i] + b.v[i]; }); }
  static F64x16 sub(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return a.v[i] - b.v[i]; }); }
  static F64x16 mul(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return a.v[i] * b.v[i]; }); }
  static F64x16 div(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return a.v[i] / b.v[i]; }); }
  static F64x16 abs(const F64x16& a) noexcept { return map([&](int i) { return __builtin_fabs(a.v[i]); }); }
  static F64x16 max(const F64x16& a, const F64x16& b) noexcept { return map([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; }); }
  static F64x16 fmadd(const F64x16& a, const F64x16& b, const F64x16& c) noexcept {
    return map([&](int i) { return __builtin_fma(a.v[i], b.v[i], c.v[i]); });
  }
  void store(double* p) const noexcept {
    for (int i = 0; i < 16; ++i) p[i] = v[i];
  }
  /// Rounds to float, stores, and returns what was stored.
  F64x16 narrow(float* p) const noexcept {
    return map([&](int i) {
      p[i] = static_cast<float>(v[i]);
      return static_cast<double>(p[i]);
    });
  }
};

}  // namespace tessera::kernels::scalar
