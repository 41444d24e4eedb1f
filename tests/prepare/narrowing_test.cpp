// SPDX-License-Identifier: Apache-2.0
#include "prepare/narrowing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "support/data.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using prepare::NarrowedRow;
using prepare::Narrowing;
using prepare::RowReader;

Narrowing choose(const kernels::CpuKernels& k, const RowSet& rows, Metric metric, bool dot) {
  const auto& traits = metrics::traits_of(metric);
  return prepare::choose_narrowing(RowReader(k, rows, traits.unit_rows), traits, dot ? Screen::fp32_dot : Screen::fp32_direct, 1.0);
}

struct Norms {
  long double two = 0;
  long double one = 0;
  long double max = 0;

  void add(long double v) {
    two += v * v;
    one += std::abs(v);
    max = std::max(max, std::abs(v));
  }
  long double of(metrics::Element element) const {
    if (element == metrics::Element::absolute_difference) return one;
    return element == metrics::Element::maximum_difference ? max : std::sqrt(two);
  }
};

/// The terms of a row against the same sums in long double: never below, and not far above.
void check_terms(const Narrowing& n, const double* row, Index d, const std::vector<float>& packed, const NarrowedRow& got) {
  Norms residual, packed_norm, exact;
  for (Index t = 0; t < d; ++t) {
    const auto u = static_cast<std::size_t>(t);
    const long double v = (static_cast<long double>(row[t]) - n.base_centre[u]) * n.scale;
    residual.add(v - packed[u]);
    packed_norm.add(packed[u]);
    exact.add(v);
  }
  const long double norm = std::sqrt(packed_norm.two);
  EXPECT_GE(got.terms.residual, residual.of(n.element));
  EXPECT_LE(got.terms.residual, residual.of(n.element) * (1 + 1e-6L) + 1e-13L * exact.of(metrics::Element::absolute_difference) + 1e-160L);
  EXPECT_NEAR(got.terms.norm2, static_cast<double>(exact.two), 1e-12 * got.terms.norm2 + 1e-300);
  if (!n.dot) return;  // direct forms take the residual only
  EXPECT_GE(got.terms.norm, norm);
  EXPECT_LE(got.terms.norm, norm + 2 * residual.one + 1e-10L * norm + 1e-160L);
}

TEST(Narrowing, TellsNoLessThanWhatItLost) {
  std::mt19937_64 random(12);
  Index checked = 0;
  for (int data = 0; data < kHurtfulCount; ++data) {
    for (const Index d : {1, 3, 16, 33}) {
      const Matrix m = hurtful(data, 20, d, random);
      for (const auto& [metric, dot] : {std::pair{Metric::sqeuclidean, true}, {Metric::sqeuclidean, false}, {Metric::l1, false}, {Metric::linf, false}}) {
        for (const std::string& isa : isas()) {
          SCOPED_TRACE(isa + ", data " + std::to_string(data) + ", d " + std::to_string(d) + ", " + std::string(name_of(metric)) + (dot ? " dot" : " direct"));
          const auto& k = kernels_of(isa);
          const Narrowing n = choose(k, m.view(), metric, dot);
          const Index padded = prepare::padded_cols(d);
          std::vector<double> row(static_cast<std::size_t>(padded));
          std::vector<float> packed(static_cast<std::size_t>(padded));
          for (Index i = 0; i < 20; ++i) {
            RowReader(k, m.view(), false).read(i, row.data());
            const NarrowedRow got = prepare::narrow_base_row(n, k, row.data(), padded, packed.data());
            if (got.bypass) continue;
            check_terms(n, row.data(), d, packed, got);
            ++checked;
          }
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(checked, 10000);
}

TEST(Narrowing, LosesNothingWhereFloatsHoldTheElements) {
  std::mt19937_64 random(13);
  Matrix m = make(Kind::normal, 50, 10, random);
  for (double& v : m.values) v = std::round(v * 50);
  for (const DType dtype : {DType::f32, DType::u8, DType::i8, DType::i16, DType::f16}) {
    const Stored stored(m, dtype);
    for (const std::string& isa : isas()) {
      const auto& k = kernels_of(isa);
      const Narrowing n = choose(k, stored.rows(), Metric::sqeuclidean, false);
      EXPECT_FALSE(n.base_centred) << name_of(dtype);
      std::vector<double> row(16);
      std::vector<float> packed(16);
      for (Index i = 0; i < 50; ++i) {
        RowReader(k, stored.rows(), false).read(i, row.data());
        EXPECT_EQ(prepare::narrow_base_row(n, k, row.data(), 16, packed.data()).terms.residual, 0.0) << name_of(dtype);
      }
    }
  }
}

TEST(Narrowing, CentresAHugeOffsetAway) {
  std::mt19937_64 random(14);
  const Matrix m = make(Kind::huge_offset, 200, 8, random);
  for (const std::string& isa : isas()) {
    const auto& k = kernels_of(isa);
    const Narrowing n = choose(k, m.view(), Metric::sqeuclidean, true);
    std::vector<double> row(16);
    std::vector<float> packed(16);
    RowReader(k, m.view(), false).read(0, row.data());
    const NarrowedRow got = prepare::narrow_base_row(n, k, row.data(), 16, packed.data());
    EXPECT_LT(got.terms.norm / n.scale, 20) << "N(0, 1) in 8 dimensions, whatever the offset of 1e6";
  }
}

TEST(Narrowing, ScalesByAPowerOfTwo) {
  std::mt19937_64 random(15);
  for (int data = 0; data < kHurtfulCount; ++data) {
    const Matrix m = hurtful(data, 30, 5, random);
    for (const bool dot : {false, true}) {
      const Narrowing n = choose(kernels_of(isas().back()), m.view(), Metric::sqeuclidean, dot);
      int exponent = 0;
      EXPECT_EQ(std::frexp(n.scale, &exponent), 0.5) << data;
      EXPECT_EQ(n.bound.z_scale, n.scale * n.scale);
    }
    EXPECT_EQ(choose(kernels_of(isas().back()), m.view(), Metric::l1, false).bound.z_scale, choose(kernels_of(isas().back()), m.view(), Metric::l1, false).scale);
  }
}

TEST(Narrowing, LetsRowsBypassThatFloatCannotHold) {
  Matrix chooser{2, 1, {1, -1}};
  for (const std::string& isa : isas()) {
    const auto& k = kernels_of(isa);
    const Narrowing n = choose(k, chooser.view(), Metric::sqeuclidean, true);
    std::vector<double> row(16, 0.0);
    std::vector<float> packed(16);
    for (const double huge : {1e200, 1e30, -0x1p490}) {
      row[0] = huge;
      EXPECT_TRUE(prepare::narrow_base_row(n, k, row.data(), 16, packed.data()).bypass) << huge;
      EXPECT_TRUE(prepare::narrow_query_row(n, k, row.data(), 16, packed.data()).bypass) << huge;
    }
    row[0] = 1e6;
    EXPECT_FALSE(prepare::narrow_base_row(n, k, row.data(), 16, packed.data()).bypass);
  }
}

}  // namespace
}  // namespace tessera::testing
