// SPDX-License-Identifier: Apache-2.0
// Here: what one pair of elements adds to a distance, for any vector type V (lanes of float in screens, of double in
// canonical sums). Not here: loops, loads, bounds. V offers sub, add, abs, max and fmadd as static members; because V
// is a type of one instruction set, every instantiation belongs to that set and cannot leak into another's object.
#pragma once

namespace tessera::metrics {

/// (x - y)^2, one fma: sqeuclidean, l2, cosine (on unit rows).
struct SquaredDifference {
  template <class V>
  static V step(V acc, V x, V y) noexcept {
    const V t = V::sub(x, y);
    return V::fmadd(t, t, acc);
  }
};

/// x * y, one fma: inner_product, and the dot form of the squared distances.
struct Product {
  template <class V>
  static V step(V acc, V x, V y) noexcept {
    return V::fmadd(x, y, acc);
  }
};

/// |x - y|: l1.
struct AbsoluteDifference {
  template <class V>
  static V step(V acc, V x, V y) noexcept {
    return V::add(acc, V::abs(V::sub(x, y)));
  }
};

/// max |x - y|: linf. The accumulator comes first so that a column of NaN stays NaN (x86 max returns its second operand).
struct MaximumDifference {
  template <class V>
  static V step(V acc, V x, V y) noexcept {
    return V::max(acc, V::abs(V::sub(x, y)));
  }
};

}  // namespace tessera::metrics
