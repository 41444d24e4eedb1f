// SPDX-License-Identifier: Apache-2.0
// Here: what one pair of elements adds to a sum, in float32 for scores and in double for canonical sums. Not here: who sums.
#pragma once

#include "kernels/cuda/simt.hpp"

namespace tessera::cuda {

struct SquaredDifference {
  template <class T>
  TESSERA_DEVICE static T step(T acc, T x, T y) {
    const T t = simt::sub(x, y);
    return simt::fma(t, t, acc);
  }
};
struct Product {
  template <class T>
  TESSERA_DEVICE static T step(T acc, T x, T y) {
    return simt::fma(x, y, acc);
  }
};
struct AbsoluteDifference {
  template <class T>
  TESSERA_DEVICE static T step(T acc, T x, T y) {
    return simt::add(acc, simt::abs(simt::sub(x, y)));
  }
};
/// In float32 it keeps NaN: rows without a bound are NaN, and must have a score that is. Doubles are finite.
struct MaximumDifference {
  TESSERA_DEVICE static float step(float acc, float x, float y) { return simt::max_nan(acc, simt::abs(simt::sub(x, y))); }
  TESSERA_DEVICE static double step(double acc, double x, double y) { return larger(acc, simt::abs(simt::sub(x, y))); }
  TESSERA_DEVICE static double larger(double a, double b) { return a < b ? b : a; }
};

/// How partial sums join.
template <class Element>
TESSERA_DEVICE double join(double a, double b) {
  return simt::add(a, b);
}
template <>
TESSERA_DEVICE double join<MaximumDifference>(double a, double b) {
  return MaximumDifference::larger(a, b);
}

}  // namespace tessera::cuda
