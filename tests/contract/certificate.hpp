// SPDX-License-Identifier: Apache-2.0
// Here: data that tell a whole certificate from a broken one, whatever backend is asked. Not here: the rows themselves (metrics/screened_pairs).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "engine/session.hpp"
#include "metrics/screened_pairs.hpp"
#include "support/data.hpp"

namespace tessera::testing {

/// Who is asked, and the columns that it screens at once at least.
struct Asked {
  Index tile;
  engine::BackendMaker backend{};
  Index target() const noexcept { return 2 * tile; }
};

/// Two tiles of the competitor, which come to be computed exactly and set the threshold, then the target, which is nearer and
/// whose score errs by all that its bound allows. Every other row is a mirror image where the mean has to be 0.
inline Matrix staged(const Asked& asked, const Matrix& competitor, const Matrix& target, bool mirror) {
  Matrix m = zeros(asked.target() + 2, target.cols);
  for (Index i = 0; i < m.rows; ++i) {
    const Matrix& source = i < asked.target() ? competitor : target;
    for (Index t = 0; t < m.cols; ++t) m.row(i)[t] = source.values[static_cast<std::size_t>(t)] * (mirror && i % 2 == 1 ? -1 : 1);
  }
  return m;
}

inline void expect_found_out(const Asked& asked, Metric metric, Screen screen, DType dtype, const Matrix& query, const Matrix& base, double broken = 0.5) {
  const Stored queries(query, dtype);
  const Stored rows(base, dtype);
  const oracle::Answer want = oracle::knn(queries.rows(), rows.rows(), {.metric = metric, .k = 1});
  ASSERT_EQ(want.ids[0], asked.target()) << "the construction is wrong: another row is nearest";
  const KnnOptions options{.metric = {metric}, .distances = DistanceType::float64, .screen = screen, .schedule = Schedule::by_query, .tile = asked.tile, .threads = 1};
  EXPECT_TRUE(same_bits(engine::search_streaming(queries.rows(), rows.rows(), 1, options, 1.0, asked.backend), want)) << "the certificate is broken";
  EXPECT_FALSE(same_bits(engine::search_streaming(queries.rows(), rows.rows(), 1, options, broken, asked.backend), want)) << "a broken bound went unnoticed";
}

// --- one construction a part of a bound ------------------------------------------------------------------------------------

inline void dot_squared_by_narrowing(const Asked& asked, const kernels::CpuKernels& kernels) {
  const auto found = narrowing_attainer(kernels);
  ASSERT_TRUE(found);
  // The competitor lies between the target and the end of the target's broken bracket.
  const double z = (found->x - found->y) * (found->x - found->y);
  const Matrix competitor{1, 1, {found->x - std::sqrt((z + found->excluded_below) / 2)}};
  const Matrix target{1, 1, {found->y}};
  expect_found_out(asked, Metric::sqeuclidean, Screen::fp32_dot, DType::f64, {1, 1, {found->x}}, staged(asked, competitor, target, true), kTooLittle);
}

inline void dot_squared_by_its_chain(const Asked& asked) {
  const Matrix query = chain_row(1000, kLostFactor);
  Matrix competitor = query;
  competitor.values[0] += 0x1p-8;
  expect_found_out(asked, Metric::sqeuclidean, Screen::fp32_dot, DType::f32, query, staged(asked, competitor, query, true));
}

inline void dot_product_by_its_chain(const Asked& asked) {
  const Matrix query = chain_row(1000, kLostFactor);
  Matrix competitor = zeros(1, 1000);
  competitor.values[0] = 1 + 700 * 0x1p-24;  // the target's product is 1 + 999 such units, of which its score loses all
  expect_found_out(asked, Metric::inner_product, Screen::fp32_dot, DType::f32, query, staged(asked, competitor, query, true));
}

inline void direct_forms_by_narrowing(const Asked& asked) {
  // The query is rounded up and the target down; the competitor is further away by a quarter of what that adds.
  const Matrix query{1, 1, {1 + 0x1p-12 - kAlmostHalfUlp}};
  const Matrix target{1, 1, {1 + 0x1p-13 + kAlmostHalfUlp}};
  const Matrix competitor{1, 1, {1 + 0x1p-13 + 0.5 * kAlmostHalfUlp}};
  for (const Metric metric : {Metric::sqeuclidean, Metric::l1, Metric::linf}) {
    SCOPED_TRACE(name_of(metric));
    expect_found_out(asked, metric, Screen::fp32_direct, DType::f64, query, staged(asked, competitor, target, true));
  }
}

inline void direct_root_by_its_chain(const Asked& asked) {
  Matrix competitor = zeros(1, 1000);
  competitor.values[0] = -125 * 0x1p-24;  // adds 250 units to a sum whose score has gained 999
  expect_found_out(asked, Metric::sqeuclidean, Screen::fp32_direct, DType::f32, chain_row(1000, kGainedFactor), staged(asked, competitor, zeros(1, 1000), false));
}

inline void direct_linear_by_its_chain(const Asked& asked) {
  Matrix competitor = zeros(1, 1000);
  competitor.values[0] = -250 * 0x1p-24;
  expect_found_out(asked, Metric::l1, Screen::fp32_direct, DType::f32, chain_row(1000, kGainedTerm), staged(asked, competitor, zeros(1, 1000), false));
}

inline void int8_by_narrowing(const Asked& asked) {
  const auto [query, target] = int8_attainer();
  // Sixteen elements lose 0.06125 each: the product is short by 0.98, the square too large by 1.96.
  Matrix farther = target;
  farther.values[0] = std::sqrt(target.values[0] * target.values[0] + 0.5);
  expect_found_out(asked, Metric::sqeuclidean, Screen::int8, DType::f64, query, staged(asked, farther, target, true));
  Matrix less = target;
  for (std::size_t t = 1; t < less.values.size(); ++t) less.values[t] -= 0.3 / 16;
  expect_found_out(asked, Metric::inner_product, Screen::int8, DType::f64, query, staged(asked, less, target, true));
}

/// Forty elements just below half a unit of bf16 above 1: each becomes 1, all along the query, and the product is short by 0.156.
inline void bf16_by_narrowing(const Asked& asked) {
  Matrix query = zeros(1, 40);
  std::fill(query.values.begin(), query.values.end(), 1.0);
  Matrix target = query;
  for (double& v : target.values) v = 1 + 0x1p-8 * (1 - 0x1p-10);
  Matrix competitor = query;  // exact in bf16
  competitor.values[0] = 1 + 36 / 128.0;  // squared distance 0.079, between 0.0006 and the middle of the target's bracket
  expect_found_out(asked, Metric::sqeuclidean, Screen::bf16, DType::f64, query, staged(asked, competitor, target, true));
  competitor.values[0] = 1 + 15 / 128.0;  // product 40.117, below the target's 40.156 and above the middle of its bracket
  expect_found_out(asked, Metric::inner_product, Screen::bf16, DType::f64, query, staged(asked, competitor, target, true));
}

}  // namespace tessera::testing
