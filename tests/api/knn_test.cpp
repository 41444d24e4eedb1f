// SPDX-License-Identifier: Apache-2.0
// The door of the library: what it accepts, refuses and reports.
#include "tessera/knn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "support/data.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kRows[] = {0, 0, 3, 4, 6, 8};
const RowSet kThree = dense(kRows, 3, 2);

template <class Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::internal, "");
}

TEST(Knn, AnswersInTheUnitsOfTheMetric) {
  const Neighbours l2 = knn(slice(kThree, 0, 1), kThree, 3);
  EXPECT_EQ(l2.rows, 1);
  EXPECT_EQ(l2.k, 3);
  EXPECT_EQ(l2.ids, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(l2.distances, (std::vector<float>{0, 5, 10}));
  EXPECT_TRUE(l2.distances64.empty());
  EXPECT_EQ(knn(slice(kThree, 0, 1), kThree, 3, {.metric = {Metric::sqeuclidean}}).distances, (std::vector<float>{0, 25, 100}));
  EXPECT_EQ(knn(slice(kThree, 0, 1), kThree, 3, {.metric = {Metric::l1}}).distances, (std::vector<float>{0, 7, 14}));
  EXPECT_EQ(knn(slice(kThree, 0, 1), kThree, 3, {.metric = {Metric::linf}}).distances, (std::vector<float>{0, 4, 8}));
  const Neighbours ip = knn(slice(kThree, 1, 2), kThree, 3, {.metric = {Metric::inner_product}});
  EXPECT_EQ(ip.ids, (std::vector<std::int64_t>{2, 1, 0})) << "the largest product comes first";
  EXPECT_EQ(ip.distances, (std::vector<float>{50, 25, 0}));
  EXPECT_FALSE(std::signbit(ip.distances[2]));
}

TEST(Knn, GivesDoublesWhenAsked) {
  const Neighbours got = knn(slice(kThree, 0, 1), kThree, 2, {.distances = DistanceType::float64});
  EXPECT_TRUE(got.distances.empty());
  EXPECT_EQ(got.distances64, (std::vector<double>{0, 5}));
}

TEST(Knn, PadsPastTheBase) {
  for (const Metric metric : {Metric::l2, Metric::inner_product}) {
    const float pad = metric == Metric::inner_product ? -kInfinity : kInfinity;
    const Neighbours got = knn(kThree, kThree, 5, {.metric = {metric}});
    for (std::size_t q = 0; q < 3; ++q) {
      for (std::size_t j = 3; j < 5; ++j) {
        EXPECT_EQ(got.ids[q * 5 + j], -1);
        EXPECT_EQ(got.distances[q * 5 + j], pad);
      }
    }
    const Neighbours none = knn(kThree, slice(kThree, 0, 0), 2, {.metric = {metric}});
    EXPECT_EQ(none.ids, (std::vector<std::int64_t>(6, -1)));
    EXPECT_EQ(none.distances, (std::vector<float>(6, pad)));
  }
}

TEST(Knn, AnswersNoQueriesWithAnEmptyList) {
  const Neighbours got = knn(slice(kThree, 1, 1), kThree, 2);
  EXPECT_EQ(got.rows, 0);
  EXPECT_TRUE(got.ids.empty());
}

TEST(Knn, RefusesWrongArguments) {
  const RowSet narrow = dense(kRows, 6, 1);
  EXPECT_EQ(error_of([&] { knn(narrow, kThree, 1); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([] { knn(kThree, kThree, 0); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([] { knn(kThree, kThree, -3); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([] { knn(kThree, kThree, 1, {.tile = -1}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([] { knn(kThree, kThree, 1, {.threads = -1}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([] { knn(dense(kRows, 3, 0), dense(kRows, 3, 0), 1); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([] { knn(dense(static_cast<const float*>(nullptr), 3, 2), kThree, 1); }).code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(error_of([&] { knn(narrow, kThree, 1); }).what()).find("1 columns"), std::string::npos);
}

TEST(Knn, RefusesResultsThatTheBudgetCannotHold) {
  EXPECT_EQ(error_of([] { knn(kThree, kThree, Index{1} << 40, {.memory = 1 << 20}); }).code(), ErrorCode::out_of_memory);
  EXPECT_EQ(error_of([] { knn(kThree, kThree, std::numeric_limits<Index>::max(), {.memory = 1 << 20}); }).code(), ErrorCode::out_of_memory);
}

TEST(Knn, TakesAnyTileAsAWish) {
  for (const Screen screen : {Screen::fp32_direct, Screen::fp32_dot, Screen::double_precision}) {
    for (const Index tile : {Index{1}, Index{49}, Index{100000}, Index{1} << 40, std::numeric_limits<Index>::max()}) {
      EXPECT_EQ(knn(slice(kThree, 0, 1), kThree, 3, {.screen = screen, .tile = tile}).ids, (std::vector<std::int64_t>{0, 1, 2})) << name_of(screen) << ", tile " << tile;
    }
  }
}

TEST(Knn, NamesTheRowsThatAreNotFinite) {
  const float rows[] = {1, 1, NAN, 1, 1, kInfinity};
  const Error base = error_of([&] { knn(kThree, dense(rows, 3, 2), 1); });
  EXPECT_EQ(base.code(), ErrorCode::malformed_input);
  EXPECT_NE(std::string(base.what()).find("base: row 1"), std::string::npos) << base.what();
  EXPECT_NE(std::string(base.what()).find("first of 2"), std::string::npos) << base.what();
  const Error queries = error_of([&] { knn(dense(rows, 3, 2), kThree, 1); });
  EXPECT_NE(std::string(queries.what()).find("queries: row 1"), std::string::npos) << queries.what();
}

TEST(Knn, CountsAllBadRowsOfABaseThatIsStreamed) {
  Matrix m = zeros(400, 8);
  for (const Index bad : {100, 200, 399}) m.row(bad)[0] = NAN;
  const Error e = error_of([&] { knn(slice(m.view(), 0, 1), m.view(), 1, {.screen = Screen::fp32_direct, .tile = 48, .memory = 4000}); });
  EXPECT_EQ(e.code(), ErrorCode::malformed_input);
  EXPECT_NE(std::string(e.what()).find("row 100"), std::string::npos) << e.what();
  EXPECT_NE(std::string(e.what()).find("first of 3"), std::string::npos) << e.what();
}

TEST(Knn, AnswersQueriesThatAreNotFiniteWithPadding) {
  const float queries[] = {NAN, 0, 3, 4};
  const Neighbours got = knn(dense(queries, 2, 2), kThree, 2, {.nan = NanPolicy::skip});
  EXPECT_EQ(got.ids, (std::vector<std::int64_t>{-1, -1, 1, 0}));
  EXPECT_EQ(got.distances, (std::vector<float>{kInfinity, kInfinity, 0, 5}));
  EXPECT_EQ(got.report.skipped_queries, 1);
  EXPECT_EQ(got.report.skipped_base, 0);
}

TEST(Knn, ReportsHowItWasCarriedOut) {
  const Neighbours got = knn(kThree, kThree, 2, {.metric = {Metric::cosine}, .screen = Screen::fp32_dot, .schedule = Schedule::by_query, .threads = 1});
  EXPECT_EQ(got.report.backend, "cpu");
  EXPECT_EQ(got.report.isa, build_info().isa);
  EXPECT_EQ(got.report.threads, 1);
  EXPECT_EQ(got.report.schedule, "by-query");
  EXPECT_EQ(got.report.screen, "fp32-dot");
  EXPECT_EQ(got.report.segments, 1);
  EXPECT_EQ(got.report.pairs, 9);
  EXPECT_EQ(got.report.zero_base, 1);
  EXPECT_EQ(got.report.zero_queries, 1);
}

TEST(Knn, ReportsPackingAsAPartOfPreparing) {
  const std::vector<float> rows = [] {
    std::vector<float> r(300 * 40);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = static_cast<float>(i * 7919 % 1009);
    return r;
  }();
  const RowSet set = dense(rows.data(), 300, 40);
  const RowSet few = dense(rows.data(), 300, 4);  // pruned when asked: queries are packed before the tiles
  const auto check = [](const Report& report) {
    EXPECT_GT(report.seconds_pack, 0);
    EXPECT_GE(report.seconds_prepare, report.seconds_pack);
    EXPECT_GT(report.seconds_search, 0);
  };
  check(knn(set, set, 5, {.screen = Screen::fp32_dot}).report);
  check(knn(few, few, 5, {.prune = Pruning::on}).report);
  check(knn(set, set, 5, {.memory = 100'000}).report);  // segments
  const Report report = PreparedBase(set).search(set, 5).report;
  check(report);
  EXPECT_EQ(report.seconds_prepare, report.seconds_pack);  // of the queries alone
}

TEST(PreparedBase, IsBoundToItsMetricAndPolicy) {
  const PreparedBase prepared(kThree);
  EXPECT_EQ(error_of([&] { prepared.search(kThree, 1, {.metric = {Metric::l1}}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { prepared.search(kThree, 1, {.nan = NanPolicy::skip}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { prepared.search(dense(kRows, 6, 1), 1); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { prepared.search(kThree, 0); }).code(), ErrorCode::invalid_argument);
}

TEST(PreparedBase, RefusesABaseThatTheBudgetCannotHold) {
  const Matrix m = zeros(1000, 10);
  EXPECT_EQ(error_of([&] { PreparedBase(m.view(), {.tile = 48, .memory = 5000}); }).code(), ErrorCode::out_of_memory);
}

TEST(PreparedBase, MovesWithItsPreparation) {
  PreparedBase first(kThree);
  PreparedBase second = std::move(first);
  EXPECT_EQ(second.search(kThree, 1).ids, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(BuildInfo, NamesVersionFeaturesAndInstructionSets) {
  const BuildInfo info = build_info();
  EXPECT_FALSE(version().empty());
  EXPECT_FALSE(info.features.empty());
  EXPECT_FALSE(info.isas_usable.empty());
  EXPECT_GE(info.threads, 1);
}

// One column 2^90 times the spread of the others takes the screen's bounds past float's range: a bound of -inf would dismiss every pair.
TEST(Knn, FindsNeighboursByInnerProductWhenBoundsLeaveTheRangeOfFloat) {
  constexpr Index kManyRows = 4096;
  constexpr Index kFewCols = 8;
  std::vector<float> base(kManyRows * kFewCols);
  for (std::size_t i = 0; i < base.size(); ++i) {
    const auto mixed = static_cast<std::uint32_t>(i) * 2654435761u;
    base[i] = i % kFewCols == 0 ? 1e19f : 1e-8f * (static_cast<float>(mixed >> 8) / 8388608.0f - 1.0f);
  }
  const std::vector<float> query(kFewCols, 1e7f);
  const RowSet queries = dense(query.data(), 1, kFewCols);
  const RowSet rows = dense(base.data(), kManyRows, kFewCols);
  const auto found = knn(queries, rows, 3, {.metric = {Metric::inner_product}});
  const auto slow = knn(queries, rows, 3, {.metric = {Metric::inner_product}, .screen = Screen::double_precision});
  EXPECT_EQ(found.ids, slow.ids);
  EXPECT_GE(found.ids[0], 0);
}

}  // namespace
}  // namespace tessera::testing
