// SPDX-License-Identifier: Apache-2.0
#include "metrics/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "support/fail.hpp"

namespace tessera::metrics {
namespace {

using support::fail;

constexpr int kMostRounds = 1000;          // each round but the last shortens a vector; real cells need a dozen
constexpr double kMostSteps = 0x1p30;      // whole numbers of a cell that anybody means
constexpr double kDependent = 0x1p-40;     // shorter than this part of the longest input: rounding, not a vector
constexpr double kShorter = 1 - 0x1p-40;   // a gain that rounding cannot fake

/// A basis on its way: rows are always formed anew from the input, so that rounding does not add up.
class Basis {
 public:
  explicit Basis(std::span<const Vector3> input) : input_(input) {
    for (std::size_t a = 0; a < input.size(); ++a) {
      out_.steps[a][a] = 1;
      out_.rows[a] = input[a];
      longest2_ = std::max(longest2_, dot(input[a], input[a]));
    }
    check();
  }

  const Vector3& row(std::size_t a) const noexcept { return out_.rows[a]; }
  double norm2(std::size_t a) const noexcept { return dot(out_.rows[a], out_.rows[a]); }
  const ReducedBasis& result() const noexcept { return out_; }

  void swap(std::size_t a, std::size_t b) noexcept {
    std::swap(out_.rows[a], out_.rows[b]);
    std::swap(out_.steps[a], out_.steps[b]);
  }

  void sort(std::size_t count) noexcept {
    for (std::size_t i = 1; i < count; ++i) {
      for (std::size_t j = i; j > 0 && norm2(j) < norm2(j - 1); --j) swap(j, j - 1);
    }
  }

  /// Row a plus k times row b.
  void add(std::size_t a, double k, std::size_t b) {
    if (k == 0) return;
    for (std::size_t i = 0; i < 3; ++i) {
      const double steps = static_cast<double>(out_.steps[a][i]) + k * static_cast<double>(out_.steps[b][i]);
      if (!(std::abs(steps) < kMostSteps)) fail(ErrorCode::invalid_argument, "cell: too skewed to be worked with: give the same lattice by shorter row vectors");
      out_.steps[a][i] = static_cast<std::int64_t>(steps);
    }
    for (std::size_t c = 0; c < 3; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < input_.size(); ++i) sum += static_cast<double>(out_.steps[a][i]) * input_[i][c];
      out_.rows[a][c] = sum;
    }
    check();
  }

 private:
  void check() const {
    for (std::size_t a = 0; a < input_.size(); ++a) {
      if (!(norm2(a) > kDependent * kDependent * longest2_)) {
        fail(ErrorCode::invalid_argument, "cell: the periodic rows are zero or linearly dependent: wanted rows that span {} dimension{}", input_.size(),
             input_.size() == 1 ? "" : "s");
      }
    }
  }

  std::span<const Vector3> input_;
  ReducedBasis out_;
  double longest2_ = 0;
};

/// Lagrange and Gauss: rows 0 and 1, the shorter first.
void reduce_pair(Basis& basis) {
  for (int round = 0; round < kMostRounds; ++round) {
    basis.sort(2);
    const double before = basis.norm2(1);
    basis.add(1, -std::nearbyint(dot(basis.row(0), basis.row(1)) / basis.norm2(0)), 0);
    if (!(basis.norm2(1) < before * kShorter)) break;
  }
  basis.sort(2);
}

/// Whole numbers (k0, k1) for which row 2 + k0 row 0 + k1 row 1 is shortest.
std::pair<double, double> nearest_in_plane(const Basis& basis) {
  const Vector3& a = basis.row(0);
  const Vector3& b = basis.row(1);
  const Vector3& c = basis.row(2);
  // The foot of c in the plane, in units of a and b; then the neighbours, since rounding is only near the best.
  const double aa = dot(a, a), ab = dot(a, b), bb = dot(b, b), ac = dot(a, c), bc = dot(b, c);
  const double area2 = aa * bb - ab * ab;
  const double x = std::nearbyint((bb * ac - ab * bc) / area2);
  const double y = std::nearbyint((aa * bc - ab * ac) / area2);
  std::pair<double, double> best{-x, -y};
  double shortest = std::numeric_limits<double>::infinity();
  for (double i = x - 1; i <= x + 1; ++i) {
    for (double j = y - 1; j <= y + 1; ++j) {
      double norm2 = 0;
      for (std::size_t t = 0; t < 3; ++t) norm2 += (c[t] - i * a[t] - j * b[t]) * (c[t] - i * a[t] - j * b[t]);
      // Not moving wins ties, so that equal lengths do not chase each other.
      if (norm2 < shortest * kShorter || (norm2 <= shortest && i == 0 && j == 0)) {
        shortest = norm2;
        best = {-i, -j};
      }
    }
  }
  return best;
}

}  // namespace

ReducedBasis reduce_basis(std::span<const Vector3> rows) {
  Basis basis(rows);
  if (rows.size() == 2) reduce_pair(basis);
  if (rows.size() == 3) {
    for (int round = 0; round < kMostRounds; ++round) {
      basis.sort(3);
      reduce_pair(basis);
      const double before = basis.norm2(2);
      const auto [i, j] = nearest_in_plane(basis);
      basis.add(2, i, 0);
      basis.add(2, j, 1);
      if (!(basis.norm2(2) < before * kShorter)) break;
    }
    basis.sort(3);
  }
  return basis.result();
}

}  // namespace tessera::metrics
