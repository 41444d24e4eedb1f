// SPDX-License-Identifier: Apache-2.0
// Here: timing searches and judging their answers. Not here: FAISS (AnnIndex), what recall is (recall()).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "support/fail.hpp"
#include "support/nearest_rank.hpp"
#include "tessera/ann.hpp"
#include "tessera/knn.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
using Search = std::function<Neighbours(const RowSet&)>;

constexpr int kMostRepeats = 5;

double seconds_of(const std::function<void()>& call) {
  const auto start = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void stop_if_asked(const SweepOptions& options) {
  if (options.stop.stop_requested()) support::fail(ErrorCode::cancelled, "interrupted");
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Queries a second of all queries in one call; the answers of the last.
double throughput(const Search& search, const RowSet& queries, const SweepOptions& options, Neighbours& answers) {
  std::vector<double> seconds;
  double spent = 0;
  // The first call is the warm-up only where there is time for another.
  while (seconds.empty() || (spent < options.seconds_per_point && std::ssize(seconds) < kMostRepeats)) {
    stop_if_asked(options);
    seconds.push_back(seconds_of([&] { answers = search(queries); }));
    spent += seconds.back();
  }
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  return static_cast<double>(queries.rows) / median(seconds);
}

/// Single queries, evenly spaced over the set.
Latency latency(const Search& search, const RowSet& queries, const SweepOptions& options) {
  const Index count = std::min(queries.rows, options.latency_queries);
  std::vector<double> milliseconds;
  double spent = 0;
  for (Index i = 0; i < count && (i < 20 || spent < options.seconds_per_point); ++i) {  // chosen: 20 tell at least a median
    stop_if_asked(options);
    const Index query = i * queries.rows / count;
    const RowSet one = slice(queries, query, query + 1);
    const double seconds = seconds_of([&] { search(one); });
    spent += seconds;
    milliseconds.push_back(1e3 * seconds);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  if (milliseconds.empty()) return {};
  return {.p50 = support::nearest_rank(milliseconds, 50), .p95 = support::nearest_rank(milliseconds, 95), .p99 = support::nearest_rank(milliseconds, 99),
          .queries = std::ssize(milliseconds)};
}

SweepPoint measure(const Search& search, const RowSet& queries, const SweepOptions& options, Neighbours& answers) {
  SweepPoint point;
  point.queries_per_second = throughput(search, queries, options, answers);
  point.latency = latency(search, queries, options);
  return point;
}

}  // namespace

std::vector<SweepPoint> sweep(AnnIndex& index, const RowSet& queries, const NeighbourLists& truth, const SweepOptions& options) {
  if (queries.rows < 1) support::fail(ErrorCode::invalid_argument, "a sweep of no queries measures nothing");
  const bool chosen = !options.settings.empty();
  std::vector<SweepPoint> points;
  for (const AnnSettings& settings : chosen ? options.settings : index.default_settings(options.k)) {
    const Search search = [&](const RowSet& rows) { return index.search(rows, options.k, settings, options.threads); };
    Neighbours answers;
    SweepPoint point = measure(search, queries, options, answers);
    const NeighbourLists run{.rows = answers.rows, .k = answers.k, .ids = std::move(answers.ids), .distances = {}};
    const RecallResult judged = recall(truth, run, {.k = options.k});
    point.settings = to_string(settings);
    point.recall = judged.recall;
    point.recall_strict = judged.recall_strict;
    points.push_back(point);
    if (options.on_point) options.on_point(point);
    if (!chosen && point.recall >= options.enough_recall) break;
  }
  return points;
}

ExactPoint measure_exact(const RowSet& base, const RowSet& queries, Metric metric, const SweepOptions& options) {
  KnnOptions knn_options{.metric = {metric}, .threads = options.threads, .stop = options.stop};
  const PreparedBase prepared(base, knn_options);
  const Search search = [&](const RowSet& rows) { return prepared.search(rows, options.k, knn_options); };
  Neighbours answers;
  ExactPoint exact;
  exact.point = measure(search, queries, options, answers);
  exact.point.recall = exact.point.recall_strict = 1;
  exact.seconds_prepare = prepared.seconds();
  return exact;
}

void mark_pareto(std::vector<SweepPoint*> points) {
  for (SweepPoint* point : points) {
    point->pareto = std::none_of(points.begin(), points.end(), [&](const SweepPoint* other) {
      const bool as_good = other->recall >= point->recall && other->queries_per_second >= point->queries_per_second;
      return as_good && (other->recall > point->recall || other->queries_per_second > point->queries_per_second);
    });
  }
}

}  // namespace tessera
