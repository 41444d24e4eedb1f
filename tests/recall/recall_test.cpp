// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "tessera/error.hpp"
#include "tessera/knn.hpp"
#include "tessera/recall.hpp"

namespace tessera::testing {
namespace {

using Json = nlohmann::json;
using Row = std::vector<std::int64_t>;

NeighbourLists lists_of(const std::vector<Row>& ids, const std::vector<std::vector<double>>& distances = {}) {
  NeighbourLists lists{.rows = std::ssize(ids), .k = std::ssize(ids.at(0)), .ids = {}, .distances = {}};
  for (const auto& row : ids) lists.ids.insert(lists.ids.end(), row.begin(), row.end());
  for (const auto& row : distances) lists.distances.insert(lists.distances.end(), row.begin(), row.end());
  return lists;
}

double number(const Json& value) { return value.is_string() ? INFINITY : value.get<double>(); }

std::vector<std::vector<double>> distances_of(const Json& rows) {
  std::vector<std::vector<double>> out;
  for (const Json& row : rows) {
    out.emplace_back();
    for (const Json& value : row) out.back().push_back(number(value));
  }
  return out;
}

TEST(RecallCases, HoldAsWrittenDown) {
  std::ifstream file(std::string(TESSERA_TEST_DATA) + "/cases/recall.json");
  const Json cases = Json::parse(file)["cases"];
  ASSERT_EQ(cases.size(), 5u);
  for (const Json& c : cases) {
    SCOPED_TRACE(c["name"].get<std::string>());
    NeighbourLists truth = lists_of(c["truth"].get<std::vector<Row>>(), distances_of(c["truth_distances"]));
    NeighbourLists run = lists_of(c["run"].get<std::vector<Row>>());
    const Index k = c["k"];
    EXPECT_DOUBLE_EQ(recall(truth, run, {.k = k}).recall, c["recall"].get<double>());
    const Json others = c.value("others", Json::object());
    for (const auto& [name, want] : others.items()) {
      EXPECT_DOUBLE_EQ(recall(truth, run, {.k = k, .definition = *parse_recall_definition(name)}).recall, want.get<double>()) << name;
    }
    if (others.contains("strict")) {
      EXPECT_DOUBLE_EQ(recall(truth, run, {.k = k}).recall_strict, others["strict"].get<double>());
    }
  }
}

// The definitions again, from their tools, in other words than src/recall: Python's sets and loops turned into C++.
struct Query {
  Row truth;
  std::vector<double> truth_distances;
  Row run;
  std::vector<double> run_distances;
};

double tie_by_exhaustion(const Query& q, std::size_t k) {
  std::vector<std::pair<double, std::int64_t>> real;
  for (std::size_t i = 0; i < q.truth.size(); ++i) {
    if (q.truth[i] >= 0) real.emplace_back(q.truth_distances[i], q.truth[i]);
  }
  const std::size_t places = std::min(k, real.size());
  const double tau = real[places - 1].first;
  std::set<std::int64_t> answers(q.run.begin(), q.run.begin() + static_cast<std::ptrdiff_t>(std::min(k, q.run.size())));
  std::size_t sure = 0;
  std::size_t perhaps = 0;
  std::size_t must = 0;
  for (const auto& [distance, id] : real) {
    must += distance < tau ? 1 : 0;
    if (!answers.contains(id)) continue;
    (distance < tau ? sure : perhaps) += distance <= tau ? 1 : 0;
  }
  return static_cast<double>(sure + std::min(perhaps, places - must)) / static_cast<double>(places);
}

double ann_benchmarks(const Query& q, std::size_t k) {
  double actual = 0;
  for (std::size_t i = 0; i < k; ++i) actual += q.run_distances[i] <= q.truth_distances[k - 1] + 1e-3 ? 1 : 0;
  return actual / static_cast<double>(k);
}

double with_set_end(const Query& q, std::size_t k, const std::function<bool(double)>& close) {
  std::size_t set_end = q.truth.size();
  for (std::size_t i = k; i < q.truth.size(); ++i) {
    if (!close(q.truth_distances[k - 1] - q.truth_distances[i])) {
      set_end = i;
      break;
    }
  }
  std::set<std::int64_t> a(q.truth.begin(), q.truth.begin() + static_cast<std::ptrdiff_t>(set_end));
  std::set<std::int64_t> b(q.run.begin(), q.run.begin() + static_cast<std::ptrdiff_t>(k));
  std::vector<std::int64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(k);
}

double faiss_intersection(const Query& q, std::size_t k) {
  std::size_t count = 0;
  std::set<std::int64_t> left(q.run.begin(), q.run.begin() + static_cast<std::ptrdiff_t>(k));
  for (std::size_t i = 0; i < k; ++i) count += q.truth[i] != -1 ? left.erase(q.truth[i]) : 0;
  return static_cast<double>(count) / static_cast<double>(k);
}

/// Small whole distances, so ties abound; run ids may repeat, be missing or lie past the truth.
Query random_query(std::mt19937& random, std::size_t truth_k, std::size_t run_k) {
  Query q;
  std::vector<double> distance(40);
  for (double& d : distance) d = static_cast<double>(random() % 6);
  Row order(40);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return distance[static_cast<std::size_t>(a)] < distance[static_cast<std::size_t>(b)]; });
  for (std::size_t i = 0; i < truth_k; ++i) {
    q.truth.push_back(order[i]);
    q.truth_distances.push_back(distance[static_cast<std::size_t>(order[i])]);
  }
  for (std::size_t i = 0; i < run_k; ++i) {
    const std::int64_t id = random() % 8 == 0 ? -1 : order[random() % 20];
    q.run.push_back(id);
    q.run_distances.push_back(id < 0 ? INFINITY : distance[static_cast<std::size_t>(id)]);
  }
  return q;
}

TEST(Recall, ReproducesEveryDefinitionOnRandomLists) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const std::size_t k = 1 + random() % 8;
    const Query q = random_query(random, k + random() % 12, k + random() % 3);
    const NeighbourLists truth = lists_of({q.truth}, {q.truth_distances});
    const NeighbourLists run = lists_of({q.run}, {q.run_distances});
    const auto ours = [&](RecallDefinition d) { return recall(truth, run, {.k = static_cast<Index>(k), .definition = d}).recall; };
    SCOPED_TRACE(round);
    EXPECT_DOUBLE_EQ(ours(RecallDefinition::tie), tie_by_exhaustion(q, k));
    EXPECT_DOUBLE_EQ(ours(RecallDefinition::ann_benchmarks), ann_benchmarks(q, k));
    EXPECT_DOUBLE_EQ(ours(RecallDefinition::big_ann), with_set_end(q, k, [](double d) { return std::abs(d) < 1e-6; }));
    EXPECT_DOUBLE_EQ(ours(RecallDefinition::diskann), with_set_end(q, k, [](double d) { return d == 0; }));
    EXPECT_DOUBLE_EQ(ours(RecallDefinition::faiss), faiss_intersection(q, k));
    const double strict = ours(RecallDefinition::strict);
    EXPECT_DOUBLE_EQ(strict, faiss_intersection(q, k));  // a full truth: the same sets, the same divisor
    EXPECT_LE(strict, ours(RecallDefinition::tie));
  }
}

TEST(Recall, BigAnnForgivesAMillionthAndDiskannNothing) {
  const NeighbourLists truth = lists_of({{0, 1, 2}}, {{1, 2, 2 + 5e-7}});
  const NeighbourLists run = lists_of({{0, 2}});
  EXPECT_EQ(recall(truth, run, {.k = 2, .definition = RecallDefinition::big_ann}).recall, 1);
  EXPECT_EQ(recall(truth, run, {.k = 2, .definition = RecallDefinition::diskann}).recall, 0.5);
}

TEST(Recall, ReportsTiesOverflowRepeatsAndMissingAnswers) {
  const NeighbourLists truth = lists_of({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {5, -1, -1}, {-1, -1, -1}},
                                        {{1, 2, 2}, {1, 2, 3}, {1, 1, 2}, {1, INFINITY, INFINITY}, {INFINITY, INFINITY, INFINITY}});
  const NeighbourLists run = lists_of({{0, 1}, {0, 0}, {1, -1}, {5, 7}, {3, 4}});
  const RecallResult result = recall(truth, run, {.k = 2});
  EXPECT_EQ(result.queries, 5);
  EXPECT_EQ(result.excluded, 1);
  EXPECT_EQ(result.tied, 1);          // the first; in the third the two tied rows have two places
  EXPECT_EQ(result.tie_overflow, 1);
  EXPECT_EQ(result.repeats, 1);
  EXPECT_EQ(result.missing, 2);
  EXPECT_TRUE(std::isnan(result.per_query[4].recall));
  EXPECT_EQ(result.per_query[3].recall, 1);  // one neighbour there is, one found
  EXPECT_DOUBLE_EQ(result.recall, (1 + 0.5 + 0.5 + 1) / 4);
  EXPECT_EQ(result.min, 0.5);
  EXPECT_EQ(result.p50, 0.5);
}

TEST(Recall, PercentilesAreByNearestRank) {
  std::vector<Row> truth;
  std::vector<Row> run;
  for (std::int64_t q = 0; q < 200; ++q) {  // recalls 0, 0.5 and 1
    truth.push_back({0, 1});
    run.push_back(q < 2 ? Row{8, 9} : q < 11 ? Row{0, 9} : Row{0, 1});
  }
  const RecallResult result = recall(lists_of(truth), lists_of(run), {.k = 2});
  EXPECT_EQ(result.p1, 0);     // the second smallest
  EXPECT_EQ(result.p5, 0.5);   // the tenth
  EXPECT_EQ(result.p50, 1);
}

TEST(Recall, TakesDescendingDistancesForInnerProducts) {
  const NeighbourLists truth = lists_of({{4, 2, 7}, {1, 0, 3}}, {{9, 5, 5}, {8, 3, 1}});
  EXPECT_EQ(recall(truth, lists_of({{4, 7}, {1, 0}}), {.k = 2}).recall, 1);
  EXPECT_EQ(recall(truth, lists_of({{2, 7}, {1, 3}}), {.k = 2}).recall, 0.5);
}

class RecallOfData : public ::testing::Test {
 protected:
  static constexpr Index kBase = 300;
  static constexpr Index kQueries = 20;
  static constexpr Index kCols = 6;

  void fill(unsigned seed, unsigned values) {
    std::mt19937 random(seed);
    for (auto* set : {&base_, &queries_}) {
      for (float& x : *set) x = static_cast<float>(random() % values);
    }
  }
  RowSet base() const { return dense(base_.data(), kBase, kCols); }
  RowSet queries() const { return dense(queries_.data(), kQueries, kCols); }
  NeighbourLists exact(Index k, Metric metric) const {
    const Neighbours found = knn(queries(), base(), k, {.metric = {metric}});
    return {.rows = kQueries, .k = k, .ids = found.ids, .distances = {found.distances.begin(), found.distances.end()}};
  }

  std::vector<float> base_ = std::vector<float>(static_cast<std::size_t>(kBase * kCols));
  std::vector<float> queries_ = std::vector<float>(static_cast<std::size_t>(kQueries * kCols));
};

TEST_F(RecallOfData, CountsTiesPastTheTruthWhenDistancesAreComputed) {
  fill(1, 3);  // six digits of three values: many ties
  const NeighbourLists deep = exact(kBase, Metric::l2);
  const NeighbourLists truth = exact(5, Metric::l2);
  NeighbourLists run = truth;  // the last row tied with the fifth, however deep
  for (Index q = 0; q < kQueries; ++q) {
    const auto row = static_cast<std::size_t>(q * kBase);
    Index last = 4;
    while (last + 1 < kBase && deep.distances[row + static_cast<std::size_t>(last) + 1] == deep.distances[row + 4]) ++last;
    run.ids[static_cast<std::size_t>(q * 5 + 4)] = deep.ids[row + static_cast<std::size_t>(last)];
  }
  const RecallResult blind = recall(truth, run, {.k = 5});
  EXPECT_LT(blind.recall, 1);
  const RecallResult seeing = recall(truth, run, {.k = 5, .base = base(), .queries = queries()});
  EXPECT_EQ(seeing.recall, 1);
  EXPECT_EQ(seeing.tie_overflow, 0);
  EXPECT_EQ(seeing.nearer_than_truth, 0);
  EXPECT_EQ(recall(deep, run, {.k = 5}).recall, 1);
}

TEST_F(RecallOfData, AgreesWithStoredDistancesOnEveryMetric) {
  fill(2, 1000);
  for (const Metric metric : {Metric::l2, Metric::sqeuclidean, Metric::cosine, Metric::inner_product, Metric::l1, Metric::linf}) {
    const NeighbourLists truth = exact(12, metric);
    NeighbourLists run = exact(12, metric);
    for (std::size_t i = 0; i < run.ids.size(); i += 3) run.ids[i] = (run.ids[i] + 1) % kBase;
    const double stored = recall(truth, run, {.k = 10}).recall;
    const RecallResult computed = recall(truth, run, {.k = 10, .base = base(), .queries = queries(), .metric = metric});
    EXPECT_DOUBLE_EQ(computed.recall, stored) << name_of(metric);
    EXPECT_LT(stored, 1);
  }
}

TEST_F(RecallOfData, AnnBenchmarksReadsDistancesOrComputesThem) {
  fill(3, 1000);
  const NeighbourLists truth = exact(10, Metric::l2);
  NeighbourLists run = truth;
  run.distances.clear();
  const RecallOptions options{.k = 10, .definition = RecallDefinition::ann_benchmarks};
  EXPECT_THROW(recall(truth, run, options), Error);
  RecallOptions with_data = options;
  with_data.base = base();
  with_data.queries = queries();
  EXPECT_EQ(recall(truth, run, with_data).recall, 1);
}

TEST_F(RecallOfData, FindsOutATruthOfOtherData) {
  fill(4, 1000);
  const NeighbourLists truth = exact(10, Metric::l2);
  NeighbourLists bare = truth;
  bare.distances.clear();
  fill(5, 1000);
  for (const NeighbourLists& other : {truth, bare}) {
    try {
      recall(other, other, {.k = 10, .base = base(), .queries = queries()});
      FAIL() << "a truth of another base passed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::malformed_input);
      EXPECT_NE(std::string(error.what()).find("another base"), std::string::npos) << error.what();
    }
  }
}

TEST_F(RecallOfData, TakesOtherToolsDistanceConventions) {
  fill(6, 1000);
  NeighbourLists squared = exact(10, Metric::sqeuclidean);
  EXPECT_EQ(recall(squared, squared, {.k = 10, .base = base(), .queries = queries(), .metric = Metric::l2}).recall, 1);
  NeighbourLists doubled = exact(10, Metric::cosine);
  for (double& d : doubled.distances) d *= 2;  // DiskANN
  EXPECT_EQ(recall(doubled, doubled, {.k = 10, .base = base(), .queries = queries(), .metric = Metric::cosine}).recall, 1);
}

TEST_F(RecallOfData, NoticesATruthThatIsNotExact) {
  fill(7, 1000);
  const NeighbourLists run = exact(3, Metric::l2);
  NeighbourLists truth = exact(4, Metric::l2);
  for (Index q = 0; q < kQueries; ++q) {  // without the nearest
    const auto first = truth.ids.begin() + q * 4;
    std::rotate(first, first + 1, first + 4);
    truth.ids[static_cast<std::size_t>(q * 4 + 3)] = -1;
  }
  truth.distances.clear();
  EXPECT_EQ(recall(truth, run, {.k = 3, .base = base(), .queries = queries()}).nearer_than_truth, kQueries);
}

TEST_F(RecallOfData, NamesTheIdThatLeavesTheBase) {
  fill(8, 1000);
  const NeighbourLists truth = exact(4, Metric::l2);
  NeighbourLists run = truth;
  run.ids[4 * 3 + 2] = kBase;
  try {
    recall(truth, run, {.k = 4, .base = base()});
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const char* part : {"run row 3", "column 2", "300", "0 to 299"}) EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(RecallErrors, NameWhatDoesNotFit) {
  const NeighbourLists truth = lists_of({{0, 1}, {1, 2}});
  const auto code = [&](const NeighbourLists& t, const NeighbourLists& r, Index k) {
    try {
      recall(t, r, {.k = k});
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code(truth, lists_of({{0, 1}}), 1), ErrorCode::malformed_input);
  EXPECT_EQ(code(truth, lists_of({{0}, {1}}), 2), ErrorCode::malformed_input);
  EXPECT_EQ(code(truth, lists_of({{0, 1, 2}, {0, 1, 2}}), 3), ErrorCode::malformed_input);
  EXPECT_EQ(code(truth, truth, 0), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tessera::testing
