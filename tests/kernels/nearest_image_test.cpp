// SPDX-License-Identifier: Apache-2.0
// The canonical periodic distance against the oracle, which tries every shift: key and shift, bit for bit, on every instruction set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "contract/periodic_oracle.hpp"
#include "kernels/cpu/contract.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using metrics::make_lattice;

std::vector<double> vector_of(const Matrix& m, Index row) { return {m.row(row), m.row(row) + m.cols}; }

/// On every instruction set.
::testing::AssertionResult agrees(const Cell& cell, const metrics::Lattice& lattice, const Matrix& points, Index i, Index j) {
  static const std::vector<const kernels::CpuKernels*> all = [] {
    std::vector<const kernels::CpuKernels*> found;
    for (const std::string& isa : isas()) found.push_back(&kernels_of(isa));
    return found;
  }();
  const auto x = vector_of(points, i);
  const auto y = vector_of(points, j);
  const oracle::Image want = oracle::nearest_image(cell, x, y);
  for (const kernels::CpuKernels* kernels : all) {
    const kernels::NearestImage got = kernels->nearest_image(lattice, x.data(), y.data());
    const bool same = std::bit_cast<std::uint64_t>(got.key) == std::bit_cast<std::uint64_t>(want.key) && static_cast<double>(want.shift[0]) == got.shift[0] &&
                      static_cast<double>(want.shift[1]) == got.shift[1] && static_cast<double>(want.shift[2]) == got.shift[2];
    if (same) continue;
    return ::testing::AssertionFailure() << fmt::format("{}: got {:a} at {} {} {}, want {:a} at {} {} {}", kernels->isa, got.key, got.shift[0], got.shift[1],
                                                        got.shift[2], want.key, want.shift[0], want.shift[1], want.shift[2]);
  }
  return ::testing::AssertionSuccess();
}

TEST(NearestImage, IsTheOracles) {
  std::mt19937_64 random(10);
  for (int i = 0; i < 1500; ++i) {
    const Cell cell = oracle::random_cell(random);
    const auto lattice = make_lattice(cell, 3);
    const Matrix points = oracle::random_points(cell, 6, 2, random);
    for (Index a = 0; a < points.rows; ++a) {
      for (Index b = 0; b <= a; ++b) ASSERT_TRUE(agrees(cell, *lattice, points, a, b)) << "cell " << i << ", points " << a << " and " << b;
    }
  }
}

TEST(NearestImage, IsTheOraclesFarOutside) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 300; ++i) {
    const Cell cell = oracle::random_cell(random);
    const auto lattice = make_lattice(cell, 3);
    for (const double part : {0.9, 1e-3, 1e-6}) {
      Matrix points = zeros(2, 3);
      for (double& v : points.values) v = std::min(lattice->largest_value, 1e9) * part * unit(random);
      ASSERT_TRUE(agrees(cell, *lattice, points, 0, 1)) << "cell " << i << ", " << part;
    }
  }
}

TEST(NearestImage, IsSymmetricAndZeroAtHome) {
  const kernels::CpuKernels& kernels = kernels_of(isas().back());
  std::mt19937_64 random(12);
  for (int i = 0; i < 300; ++i) {
    const Cell cell = oracle::random_cell(random);
    const auto lattice = make_lattice(cell, 3);
    const Matrix points = oracle::random_points(cell, 8, 3, random);
    for (Index a = 0; a < 8; ++a) {
      for (Index b = 0; b < 8; ++b) {
        const double there = kernels.nearest_image(*lattice, points.row(a), points.row(b)).key;
        ASSERT_EQ(there, kernels.nearest_image(*lattice, points.row(b), points.row(a)).key);
        if (a == b) {
          ASSERT_EQ(std::bit_cast<std::uint64_t>(there), 0U);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
