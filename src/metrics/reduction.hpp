// SPDX-License-Identifier: Apache-2.0
// Here: the shortest basis of a lattice of up to three vectors, with the whole numbers that lead to it. Not here: what it is for (lattice.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tessera::metrics {

using Vector3 = std::array<double, 3>;

inline double dot(const Vector3& a, const Vector3& b) noexcept { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// A basis of the same lattice, shortest vector first.
struct ReducedBasis {
  std::array<Vector3, 3> rows{};                        // [rank]
  std::array<std::array<std::int64_t, 3>, 3> steps{};   // rows[a] = sum_b steps[a][b] * input[b]; unimodular
};

/// Minkowski-reduces 0 to 3 vectors: each is as short as any that completes those before it.
///
/// Comparisons of nearly equal lengths may go either way in double; what is built on a basis must not need more than that it is one
/// of the same lattice, and it does not (docs/numerics.md).
/// throws   Error{invalid_argument} when the vectors are dependent, as far as double can tell, or absurdly skewed.
/// source   Semaev, "A 3-dimensional lattice reduction algorithm" (2001).
ReducedBasis reduce_basis(std::span<const Vector3> rows);

}  // namespace tessera::metrics
