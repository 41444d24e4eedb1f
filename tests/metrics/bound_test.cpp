// SPDX-License-Identifier: Apache-2.0
// Brackets of single pairs: on data that hurt, and on data built to attain them. A bound that is twice too wide stays unnoticed on
// random data; one that is half as wide as it should be is found out only by the constructed ones, which is asserted here too.
#include "metrics/bound.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "engine/plan.hpp"
#include "metrics/screened_pairs.hpp"
#include "metrics/traits.hpp"
#include "support/data.hpp"
#include "support/bf16_tables.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using metrics::BoundContext;
using metrics::BoundForm;
using metrics::Element;
using metrics::PairBound;
using metrics::RowTerms;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Metric kMetrics[] = {Metric::sqeuclidean, Metric::inner_product, Metric::cosine, Metric::l1, Metric::linf};

BoundContext context_of(BoundForm form, Index d) { return metrics::make_context(form, d, 1, 0, 1); }

bool has_form(Metric metric, bool dot) { return dot ? metrics::traits_of(metric).has_dot : metrics::traits_of(metric).has_direct; }

TEST(FloatRounding, GoesOutwardByAFewUnitsAtMost) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::ldexp(static_cast<double>(random()) * 0x1p-63 - 1, static_cast<int>(random() % 320) - 194);  // below 2^126
    const float up = metrics::float_up(value);
    const float down = metrics::float_down(value);
    ASSERT_GE(static_cast<double>(up), value);
    ASSERT_LE(static_cast<double>(down), value);
    ASSERT_LE(up - value, std::abs(value) * 0x1.8p-22 + 0x1p-148);
    ASSERT_LE(value - down, std::abs(value) * 0x1.8p-22 + 0x1p-148);
  }
}

TEST(FloatRounding, StopsAtTheLargestFloatWhereInfinityWouldBeOnTheWrongSide) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr double kWide = std::numeric_limits<double>::infinity();
  for (const double beyond : {1e39, 1e300, kWide}) {
    EXPECT_EQ(metrics::float_up(beyond), kInfinity);
    EXPECT_EQ(metrics::float_down(beyond), kLargest);
    EXPECT_EQ(metrics::float_up(-beyond), -kLargest);
    EXPECT_EQ(metrics::float_down(-beyond), -kInfinity);
  }
  EXPECT_TRUE(std::isnan(metrics::float_up(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(metrics::float_down(std::numeric_limits<double>::quiet_NaN())));
}

TEST(PairBound, SaysNothingAboutScoresThatAreNotFinite) {
  for (const BoundForm form : {BoundForm::dot_squared, BoundForm::dot_product, BoundForm::direct_root, BoundForm::direct_linear}) {
    const PairBound bound(context_of(form, 4), {.norm2 = 1, .norm = 1}, {.norm2 = 1, .norm = 1});
    for (const float score : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
      EXPECT_EQ(bound.lower(score), -kInfinity);
      EXPECT_EQ(bound.upper(score), kInfinity);
    }
    EXPECT_EQ(bound.threshold(std::numeric_limits<double>::infinity()), kInfinity);
  }
}

/// The longest rows that are screened; from 2^24 terms on a chain has no bound, and gamma would change its sign.
TEST(PairBound, StillBracketsTheLongestRowsThatAreScreened) {
  const Index d = engine::kLargestScreenedCols;
  ASSERT_LT(d, Index{1} << 23);
  for (const BoundForm form : {BoundForm::dot_squared, BoundForm::dot_product, BoundForm::direct_root, BoundForm::direct_linear}) {
    const PairBound bound(context_of(form, d), {.norm2 = 1, .norm = 1}, {.norm2 = 1, .norm = 1});
    const double z = form == BoundForm::dot_product ? -1 : 1;
    const auto score = static_cast<float>(form == BoundForm::dot_squared ? z - 1 : z);  // what an exact kernel would return
    EXPECT_FALSE(score > bound.threshold(z)) << static_cast<int>(form);
    EXPECT_LE(bound.lower(score), z) << static_cast<int>(form);
    EXPECT_GE(bound.upper(score), z) << static_cast<int>(form);
    EXPECT_TRUE(std::isfinite(bound.threshold(z))) << static_cast<int>(form);
  }
}

// --- data that hurt --------------------------------------------------------------------------------------------------

struct Tally {
  Index pairs = 0;
  Index bypassed = 0;
  double attained = 0;
};

void check_all(const ScreenedPairs& screened, Tally& tally) {
  for (const ScreenedPair& p : screened.pairs) {
    for (const RowTerms* base : {&p.base, &p.tile}) {
      const Verdict v = judge(screened.context, p.query, *base, p.score, p.z);
      ASSERT_TRUE(v.bracket_holds) << fmt::format("score {:a}, z {:a}", p.score, static_cast<double>(p.z));
      ASSERT_TRUE(v.threshold_holds) << fmt::format("score {:a}, z {:a}", p.score, static_cast<double>(p.z));
      ASSERT_TRUE(v.parts_hold) << fmt::format("score {:a}, z {:a}", p.score, static_cast<double>(p.z));
      ASSERT_LE(v.parts_excess, 0x1p-21);
      if (base == &p.base) tally.attained = std::max(tally.attained, v.attained);
    }
    ++tally.pairs;
  }
  tally.bypassed += screened.bypassed;
}

/// Every form, type and instruction set on one base; queries like the base, queries of another kind, and the base itself; now
/// and then centre and scale are chosen on rows that have nothing to do with it.
void check_data(Metric metric, int n, Index d, std::mt19937_64& random, std::map<std::string, Tally>& tallies) {
  const Matrix base = hurtful(n, 13, d, random);
  const Matrix alike = hurtful(n, 4, d, random);
  const Matrix other = hurtful(static_cast<int>(random() % kHurtfulCount), 4, d, random);
  const Matrix chooser = hurtful(static_cast<int>(random() % kHurtfulCount), 9, d, random);
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Stored b(base, dtype);
    const Stored c(chooser, dtype);
    const Stored queries[] = {Stored(alike, dtype), Stored(other, dtype), Stored(base, dtype)};
    for (const bool dot : {false, true}) {
      if (!has_form(metric, dot)) continue;
      Tally& tally = tallies[dot ? "dot" : "direct"];
      for (const std::string& isa : isas()) {
        SCOPED_TRACE(fmt::format("data {}, d {}, {}, {}, {}", n, d, name_of(dtype), dot ? "dot" : "direct", isa));
        if (dot) {
          for (const Stored& q : queries) check_all(screen_all_coarse(Screen::int8, kernels_of(isa), metric, q.rows(), b.rows(), b.rows()), tallies["int8"]);
          check_all(screen_all_coarse(Screen::int8, kernels_of(isa), metric, queries[0].rows(), b.rows(), c.rows()), tallies["int8"]);
        }
        for (const kernels::CpuKernels* k : dot ? bf16_tables() : std::vector<const kernels::CpuKernels*>{}) {
          if (isa != isas().front()) break;  // these are tables of their own
          for (const Stored& q : queries) check_all(screen_all_coarse(Screen::bf16, *k, metric, q.rows(), b.rows(), b.rows()), tallies["bf16"]);
          check_all(screen_all_coarse(Screen::bf16, *k, metric, queries[0].rows(), b.rows(), c.rows()), tallies["bf16"]);
        }
        for (const Stored& q : queries) check_all(screen_all(kernels_of(isa), metric, dot, q.rows(), b.rows()), tally);
        check_all(screen_all(kernels_of(isa), metric, dot, queries[0].rows(), b.rows(), c.rows()), tally);
      }
    }
  }
}

class HurtfulData : public ::testing::TestWithParam<Metric> {};

TEST_P(HurtfulData, StaysWithinItsBounds) {
  constexpr std::uint64_t kSeed = 71;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  std::map<std::string, Tally> tallies;
  for (int n = 0; n < kHurtfulCount; ++n) {
    for (const Index d : {1, 2, 3, 16, 17, 100}) {
      check_data(GetParam(), n, d, random, tallies);
      if (HasFatalFailure()) return;
    }
  }
  for (const auto& [form, tally] : tallies) {
    fmt::print("{} {}: {} pairs, {} bypassed, {:.3f} of the slack attained\n", name_of(GetParam()), form, tally.pairs, tally.bypassed, tally.attained);
    EXPECT_GT(tally.pairs, 10000);
    EXPECT_GT(tally.bypassed, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, HurtfulData, ::testing::ValuesIn(kMetrics), [](const auto& p) { return std::string(name_of(p.param)); });

// --- data that attain the bounds -------------------------------------------------------------------------------------

struct Attainer {
  BoundContext context;
  RowTerms query;
  RowTerms base;
  float score;
  long double z;
};

/// The whole slack holds, half of it does not: neither as a bracket nor as a threshold.
void expect_attained(const std::string& what, Attainer a, double at_least) {
  const Verdict whole = judge(a.context, a.query, a.base, a.score, a.z);
  EXPECT_TRUE(whole.bracket_holds) << what;
  EXPECT_TRUE(whole.threshold_holds) << what;
  a.context = inflated(a.context, 0.5);
  const Verdict half = judge(a.context, a.query, a.base, a.score, a.z);
  EXPECT_FALSE(half.bracket_holds) << what << ": half the slack went unnoticed by the bracket";
  EXPECT_FALSE(half.threshold_holds) << what << ": half the slack went unnoticed by the threshold";
  if (a.context.form == BoundForm::dot_squared || a.context.form == BoundForm::dot_product) {
    EXPECT_TRUE(whole.parts_hold) << what;
    EXPECT_FALSE(half.parts_hold) << what << ": half the slack went unnoticed by the threshold in two parts";
  }
  EXPECT_GT(whole.attained, at_least) << what;
  fmt::print("{}: {:.4f} of the slack attained\n", what, whole.attained);
}

Attainer attainer_of(const ScreenedPairs& screened, std::size_t pair = 0) {
  const ScreenedPair& p = screened.pairs.at(pair);
  return {screened.context, p.query, p.base, p.score, p.z};
}

/// d = 1 and rows packed far more coarsely than fp32 would: the Cauchy-Schwarz part is nearly all of the slack.
Attainer coarsely_packed(const kernels::CpuKernels& k, BoundForm form, Element element, double x, double y, float packed_x, float packed_y) {
  const bool dot = form == BoundForm::dot_squared || form == BoundForm::dot_product;
  const std::vector<float> bias = {form == BoundForm::dot_squared ? static_cast<float>(y * y) : 0.0f};
  const float factor = form == BoundForm::dot_product ? 1.0f : 2.0f;
  const float score = scores_of(k, element, dot, factor, {{packed_x}}, {{packed_y}}, bias, 1)[0];
  auto terms = [](double v, float packed) { return RowTerms{.norm2 = v * v, .norm = std::abs(static_cast<double>(packed)), .residual = std::abs(v - packed)}; };
  const long double difference = static_cast<long double>(x) - y;
  long double z = difference * difference;
  if (form == BoundForm::direct_linear) z = std::abs(difference);
  if (form == BoundForm::dot_product) z = -static_cast<long double>(x) * y;
  return {context_of(form, 1), terms(x, packed_x), terms(y, packed_y), score, z};
}

TEST(AttainedBound, CauchySchwarzPartOfDotSquared) {
  for (const std::string& isa : isas()) {
    // Both rows are larger than their packed copies: the computed product is too small, the score too large.
    const auto a = coarsely_packed(kernels_of(isa), BoundForm::dot_squared, Element::product, 1 + 0x1p-9, 1 + 0x1p-9 + 0x1p-20, 1, 1);
    expect_attained(isa + ", dot_squared, narrowing", a, 0.99);
  }
}

TEST(AttainedBound, CauchySchwarzPartOfDotProduct) {
  for (const std::string& isa : isas()) {
    const auto a = coarsely_packed(kernels_of(isa), BoundForm::dot_product, Element::product, 1 + 0x1p-9, 1 + 0x1p-9, 1, 1);
    expect_attained(isa + ", dot_product, narrowing", a, 0.99);
  }
}

TEST(AttainedBound, Int8ResidualAlongTheQuery) {
  for (const std::string& isa : isas()) {
    const auto& k = kernels_of(isa);
    const auto [query, target] = int8_attainer();
    const Matrix base = mirrored(target);  // the mean is 0
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product}) {
      SCOPED_TRACE(fmt::format("{}, {}", isa, name_of(metric)));
      for (const double inflation : {1.0, 0.99}) {
        const ScreenedPairs screened = screen_all_coarse(Screen::int8, k, metric, query.view(), base.view(), base.view(), inflation);
        const ScreenedPair& p = screened.pairs[0];
        const PairBound bound(screened.context, p.query, p.base);
        EXPECT_EQ(bound.lower(p.score) <= p.z, inflation == 1) << inflation;
        EXPECT_EQ(p.score <= bound.threshold(static_cast<double>(p.z)), inflation == 1) << inflation;
      }
    }
  }
}

/// Elements just short of half-way to the next number of 8 bits, all on one side, along a query that bf16 holds.
TEST(AttainedBound, Bf16ResidualAlongTheQuery) {
  Matrix query = zeros(1, 17);
  Matrix target = zeros(1, 17);
  std::fill(query.values.begin(), query.values.end(), 1.0);
  std::fill(target.values.begin(), target.values.end(), 1 + 0x1p-8 - 0x1p-14);
  const Matrix base = mirrored(target);  // the mean is 0
  for (const kernels::CpuKernels* k : bf16_tables()) {
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product}) {
      SCOPED_TRACE(fmt::format("{}, {}", k->isa, name_of(metric)));
      for (const double inflation : {1.0, 0.99}) {
        const ScreenedPairs screened = screen_all_coarse(Screen::bf16, *k, metric, query.view(), base.view(), base.view(), inflation);
        const ScreenedPair& p = screened.pairs[0];
        const PairBound bound(screened.context, p.query, p.base);
        EXPECT_EQ(bound.lower(p.score) <= p.z, inflation == 1) << inflation;
        EXPECT_EQ(p.score <= bound.threshold(static_cast<double>(p.z)), inflation == 1) << inflation;
      }
    }
  }
}

TEST(AttainedBound, NarrowingPartOfDirectForms) {
  for (const std::string& isa : isas()) {
    const auto& k = kernels_of(isa);
    auto packed = [&](BoundForm form, Element element) { return coarsely_packed(k, form, element, 1.5 - 0x1p-9, 1.25 + 0x1p-9, 1.5f, 1.25f); };
    expect_attained(isa + ", direct_root, narrowing", packed(BoundForm::direct_root, Element::squared_difference), 0.99);
    expect_attained(isa + ", direct_linear (l1), narrowing", packed(BoundForm::direct_linear, Element::absolute_difference), 0.99);
    expect_attained(isa + ", direct_linear (linf), narrowing", packed(BoundForm::direct_linear, Element::maximum_difference), 0.99);
  }
}

TEST(AttainedBound, NarrowingOfFloat64RowsInDirectForms) {
  // x is rounded up and y down: the packed rows are further apart than the rows by both residuals.
  const double x = 1 + 0x1p-12 - kAlmostHalfUlp;
  const double y = 1 + 0x1p-13 + kAlmostHalfUlp;
  Matrix queries{1, 1, {x}};
  Matrix base{2, 1, {y, -y}};  // the mean is 0: nothing is centred away
  for (const std::string& isa : isas()) {
    for (const Metric metric : {Metric::sqeuclidean, Metric::l1, Metric::linf}) {
      const auto screened = screen_all(kernels_of(isa), metric, false, queries.view(), base.view());
      expect_attained(fmt::format("{}, {} on float64 rows, narrowing", isa, name_of(metric)), attainer_of(screened), 0.99);
    }
  }
}

TEST(AttainedBound, NarrowingOfARowBelowTheRangeOfFloat) {
  // The scale is chosen on rows of 1, the base row is 2^50, the query vanishes in fp32: all that is left of it is its residual.
  Matrix chooser{2, 1, {1, -1}};
  Matrix base{1, 1, {0x1p50}};
  Matrix queries{1, 1, {0x1p-148 * (1 - 0x1p-20)}};
  for (const std::string& isa : isas()) {
    const auto screened = screen_all(kernels_of(isa), Metric::inner_product, true, queries.view(), base.view(), chooser.view());
    expect_attained(isa + ", dot_product on float64 rows, narrowing", attainer_of(screened), 0.99);
  }
}

TEST(AttainedBound, NarrowingOfFloat64RowsInDotSquared) {
  for (const std::string& isa : isas()) {
    const auto found = narrowing_attainer(kernels_of(isa));
    ASSERT_TRUE(found) << isa;
    const Matrix queries{1, 1, {found->x}};
    const Matrix base{2, 1, {found->y, -found->y}};
    const auto a = attainer_of(screen_all(kernels_of(isa), Metric::sqeuclidean, true, queries.view(), base.view()));
    EXPECT_TRUE(judge(a.context, a.query, a.base, a.score, a.z).bracket_holds) << isa;
    EXPECT_FALSE(judge(inflated(a.context, kTooLittle), a.query, a.base, a.score, a.z).bracket_holds) << isa;
  }
}

TEST(AttainedBound, ChainPartOfDotForms) {
  for (const std::string& isa : isas()) {
    for (const Index d : {200, 1000, 5000}) {
      const Matrix row = chain_row(d, kLostFactor);
      const Stored queries(row, DType::f32);
      const Stored base(mirrored(row), DType::f32);  // the mean is 0
      for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product}) {
        const auto screened = screen_all(kernels_of(isa), metric, true, queries.rows(), base.rows());
        ASSERT_LT(screened.pairs[0].base.residual, 1e-16) << "the rows are meant to be exact in fp32";
        expect_attained(fmt::format("{}, {} dot, chain of {}", isa, name_of(metric), d), attainer_of(screened), 0.9);
      }
    }
  }
}

TEST(AttainedBound, ChainPartOfDirectForms) {
  for (const std::string& isa : isas()) {
    for (const Index d : {200, 1000, 5000}) {
      const Stored base(zeros(2, d), DType::f32);
      const Stored squares(chain_row(d, kGainedFactor), DType::f32);
      const Stored terms(chain_row(d, kGainedTerm), DType::f32);
      expect_attained(fmt::format("{}, direct_root, chain of {}", isa, d),
                      attainer_of(screen_all(kernels_of(isa), Metric::sqeuclidean, false, squares.rows(), base.rows())), 0.9);
      expect_attained(fmt::format("{}, direct_linear, chain of {}", isa, d),
                      attainer_of(screen_all(kernels_of(isa), Metric::l1, false, terms.rows(), base.rows())), 0.9);
    }
  }
}

TEST(PairBound, ReachesUpToTheScoresThatLoseTheirSmallTerms) {
  for (const std::string& isa : isas()) {
    const Index d = 5000;
    const Stored base(zeros(2, d), DType::f32);
    const Stored squares(chain_row(d, kLostFactor), DType::f32);
    const auto screened = screen_all(kernels_of(isa), Metric::sqeuclidean, false, squares.rows(), base.rows());
    const ScreenedPair& p = screened.pairs[0];
    ASSERT_GT(static_cast<double>(p.z) / p.score, 1 + 0.9 * static_cast<double>(d) * 0x1p-24) << "the chain lost nothing";
    EXPECT_TRUE(judge(screened.context, p.query, p.base, p.score, p.z).bracket_holds);
    EXPECT_FALSE(judge(inflated(screened.context, 0), p.query, p.base, p.score, p.z).bracket_holds);
  }
}

}  // namespace
}  // namespace tessera::testing
