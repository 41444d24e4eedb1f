// SPDX-License-Identifier: Apache-2.0
// The certificate at work in the engine: with its bounds as they are, rows built to attain them get the right answer; with halved
// bounds each of them gets a wrong one. The second half is what makes the first one worth something.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "engine/session.hpp"
#include "metrics/screened_pairs.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

constexpr Index kTile = 48;  // a whole number of panels on every instruction set
constexpr Index kTargetRow = 2 * kTile;

/// Two tiles of the competitor, which come to be computed exactly and set the threshold, then the target, which is nearer and
/// whose score errs by all that its bound allows. Every other row is a mirror image where the mean has to be 0.
Matrix staged(const Matrix& competitor, const Matrix& target, bool mirror) {
  Matrix m = zeros(kTargetRow + 2, target.cols);
  for (Index i = 0; i < m.rows; ++i) {
    const Matrix& source = i < kTargetRow ? competitor : target;
    for (Index t = 0; t < m.cols; ++t) m.row(i)[t] = source.values[static_cast<std::size_t>(t)] * (mirror && i % 2 == 1 ? -1 : 1);
  }
  return m;
}

void expect_found_out(Metric metric, Screen screen, DType dtype, const Matrix& query, const Matrix& base, double broken = 0.5) {
  const Stored queries(query, dtype);
  const Stored rows(base, dtype);
  const oracle::Answer want = oracle::knn(queries.rows(), rows.rows(), {.metric = metric, .k = 1});
  ASSERT_EQ(want.ids[0], kTargetRow) << "the construction is wrong: another row is nearest";
  const KnnOptions options{.metric = {metric}, .distances = DistanceType::float64, .screen = screen, .schedule = Schedule::by_query, .tile = kTile, .threads = 1};
  EXPECT_TRUE(same_bits(engine::search_streaming(queries.rows(), rows.rows(), 1, options, 1.0), want)) << "the certificate is broken";
  EXPECT_FALSE(same_bits(engine::search_streaming(queries.rows(), rows.rows(), 1, options, broken), want)) << "a broken bound went unnoticed";
}

class Certificate : public ::testing::TestWithParam<std::string> {
 protected:
  Certificate() : forced_(GetParam()) {}

 private:
  ForcedIsa forced_;
};

TEST_P(Certificate, OfDotSquaredIsFoundOutByNarrowing) {
  const auto found = narrowing_attainer(kernels_of(GetParam()));
  ASSERT_TRUE(found);
  // The competitor lies between the target and the end of the target's broken bracket.
  const double z = (found->x - found->y) * (found->x - found->y);
  const Matrix competitor{1, 1, {found->x - std::sqrt((z + found->excluded_below) / 2)}};
  const Matrix target{1, 1, {found->y}};
  expect_found_out(Metric::sqeuclidean, Screen::fp32_dot, DType::f64, {1, 1, {found->x}}, staged(competitor, target, true), kTooLittle);
}

TEST_P(Certificate, OfDotSquaredIsFoundOutByItsChain) {
  const Matrix query = chain_row(1000, kLostFactor);
  Matrix competitor = query;
  competitor.values[0] += 0x1p-8;
  expect_found_out(Metric::sqeuclidean, Screen::fp32_dot, DType::f32, query, staged(competitor, query, true));
}

TEST_P(Certificate, OfDotProductIsFoundOutByItsChain) {
  const Matrix query = chain_row(1000, kLostFactor);
  Matrix competitor = zeros(1, 1000);
  competitor.values[0] = 1 + 700 * 0x1p-24;  // the target's product is 1 + 999 such units, of which its score loses all
  expect_found_out(Metric::inner_product, Screen::fp32_dot, DType::f32, query, staged(competitor, query, true));
}

TEST_P(Certificate, OfDirectFormsIsFoundOutByNarrowing) {
  // The query is rounded up and the target down; the competitor is further away by a quarter of what that adds.
  const Matrix query{1, 1, {1 + 0x1p-12 - kAlmostHalfUlp}};
  const Matrix target{1, 1, {1 + 0x1p-13 + kAlmostHalfUlp}};
  const Matrix competitor{1, 1, {1 + 0x1p-13 + 0.5 * kAlmostHalfUlp}};
  for (const Metric metric : {Metric::sqeuclidean, Metric::l1, Metric::linf}) {
    SCOPED_TRACE(name_of(metric));
    expect_found_out(metric, Screen::fp32_direct, DType::f64, query, staged(competitor, target, true));
  }
}

TEST_P(Certificate, OfDirectRootIsFoundOutByItsChain) {
  Matrix competitor = zeros(1, 1000);
  competitor.values[0] = -125 * 0x1p-24;  // adds 250 units to a sum whose score has gained 999
  expect_found_out(Metric::sqeuclidean, Screen::fp32_direct, DType::f32, chain_row(1000, kGainedFactor), staged(competitor, zeros(1, 1000), false));
}

TEST_P(Certificate, OfDirectLinearIsFoundOutByItsChain) {
  Matrix competitor = zeros(1, 1000);
  competitor.values[0] = -250 * 0x1p-24;
  expect_found_out(Metric::l1, Screen::fp32_direct, DType::f32, chain_row(1000, kGainedTerm), staged(competitor, zeros(1, 1000), false));
}

TEST_P(Certificate, OfTheInt8ScreenIsFoundOutByNarrowing) {
  const auto [query, target] = int8_attainer();
  // Sixteen elements lose 0.06125 each: the product is short by 0.98, the square too large by 1.96.
  Matrix farther = target;
  farther.values[0] = std::sqrt(target.values[0] * target.values[0] + 0.5);
  expect_found_out(Metric::sqeuclidean, Screen::int8, DType::f64, query, staged(farther, target, true));
  Matrix less = target;
  for (std::size_t t = 1; t < less.values.size(); ++t) less.values[t] -= 0.3 / 16;
  expect_found_out(Metric::inner_product, Screen::int8, DType::f64, query, staged(less, target, true));
}

INSTANTIATE_TEST_SUITE_P(Isas, Certificate, ::testing::ValuesIn(isas()), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace tessera::testing
