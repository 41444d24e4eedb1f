// SPDX-License-Identifier: Apache-2.0
// Canonical sums: the same bits on every instruction set as numerics.md's words, read as a plain loop.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "contract/oracle.hpp"
#include "metrics/traits.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

constexpr Metric kMetrics[] = {Metric::sqeuclidean, Metric::inner_product, Metric::l1, Metric::linf};

std::vector<double> padded(std::vector<double> row) {
  row.resize((row.size() + 15) / 16 * 16, 0.0);
  return row;
}

double sum_of(const std::string& isa, Metric metric, const std::vector<double>& x, const std::vector<double>& y) {
  const auto& k = kernels_of(isa);
  const auto px = padded(x);
  const auto py = padded(y);
  return k.canonical[static_cast<int>(metrics::traits_of(metric).canonical)](px.data(), py.data(), std::ssize(px));
}

TEST(CanonicalSum, HasTheOraclesBitsOnEveryInstructionSet) {
  std::mt19937_64 random(1);
  for (int n = 0; n < kHurtfulCount; ++n) {
    for (const Index d : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 1000}) {
      const Matrix m = hurtful(n, 4, d, random);
      for (const Metric metric : kMetrics) {
        for (Index i = 0; i < 4; ++i) {
          const std::vector<double> x(m.row(0), m.row(0) + d);
          const std::vector<double> y(m.row(i), m.row(i) + d);
          const double want = oracle::canonical_sum(metric, x, y);
          for (const std::string& isa : isas()) {
            const double got = sum_of(isa, metric, x, y);
            ASSERT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(want)) << isa << ", " << name_of(metric) << ", d " << d << ", data " << n;
          }
        }
      }
    }
  }
}

TEST(CanonicalSum, NeverIsNegativeZero) {
  for (const std::string& isa : isas()) {
    for (const Metric metric : kMetrics) EXPECT_FALSE(std::signbit(sum_of(isa, metric, {-0.0, 0.0, -1e-200}, {0.0, -0.0, 1e-200}))) << isa << ", " << name_of(metric);
  }
}

TEST(CanonicalSum, EntersProductsByOneFma) {
  // Without the fma the square of 1 + 2^-30 would lose its last term.
  const double x = 1 + 0x1p-30;
  for (const std::string& isa : isas()) EXPECT_EQ(sum_of(isa, Metric::inner_product, std::vector<double>{-1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, x}, std::vector<double>{1 + 0x1p-29, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, x}), 0x1p-60) << isa;
}

}  // namespace
}  // namespace tessera::testing
