// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "recall/definitions.hpp"
#include "recall/pair_keys.hpp"
#include "recall/truth.hpp"
#include "support/fail.hpp"
#include "support/nearest_rank.hpp"

namespace tessera {
namespace {

using recall_room::QueryLists;
using recall_room::TieCount;
using support::fail;

constexpr double kAnnBenchmarksEpsilon = 1e-3;  // source: ann_benchmarks/plotting/metrics.py

bool recomputes(const RecallOptions& options) { return options.base.has_value() && options.queries.has_value(); }

/// ann-benchmarks adds its epsilon to distances as it reports them: roots for l2.
void to_reported(std::vector<double>& keys, Metric metric) {
  if (metric != Metric::l2) return;
  for (double& key : keys) key = std::sqrt(key);
}

/// Keys of one query after another: computed from the data, or what the files say.
class KeySource {
 public:
  KeySource(const NeighbourLists& truth, const NeighbourLists& run, const RecallOptions& options)
      : truth_(truth), run_(run), options_(options), sign_(recall_room::direction(truth)), check_(options.metric) {
    if (recomputes(options)) pairs_.emplace(*options.base, *options.queries, options.metric);
  }

  QueryLists lists(Index query) {
    const auto t = static_cast<std::size_t>(query * truth_.k);
    const auto r = static_cast<std::size_t>(query * run_.k);
    const auto truth_k = static_cast<std::size_t>(truth_.k);
    const auto run_k = static_cast<std::size_t>(options_.k);
    QueryLists out{.truth = {truth_.ids.data() + t, truth_k}, .truth_keys = {}, .run = {run_.ids.data() + r, run_k}, .run_keys = {},
                   .k = options_.k, .recomputed = pairs_.has_value()};
    if (pairs_) {
      compute(query, out, truth_.distances.empty() ? nullptr : truth_.distances.data() + t);
    } else {
      read(truth_.distances, t, truth_k, truth_keys_);
      read(run_.distances, r, run_k, run_keys_);
    }
    if (pairs_ || !truth_.distances.empty()) out.truth_keys = truth_keys_;
    if (pairs_ || !run_.distances.empty()) out.run_keys = run_keys_;
    return out;
  }

  void finish() const {
    if (pairs_) check_.finish();
  }

 private:
  void compute(Index query, const QueryLists& lists, const double* stored) {
    truth_keys_.resize(lists.truth.size());
    run_keys_.resize(lists.run.size());
    pairs_->of(query, lists.truth, truth_keys_.data());
    pairs_->of(query, lists.run, run_keys_.data());
    check_.add(stored, truth_keys_.data(), lists.truth.data(), std::ssize(lists.truth));
    if (options_.definition != RecallDefinition::ann_benchmarks) return;
    to_reported(truth_keys_, options_.metric);
    to_reported(run_keys_, options_.metric);
  }

  void read(const std::vector<double>& from, std::size_t first, std::size_t count, std::vector<double>& keys) const {
    if (from.empty()) return;
    keys.assign(from.begin() + static_cast<std::ptrdiff_t>(first), from.begin() + static_cast<std::ptrdiff_t>(first + count));
    for (double& key : keys) key *= sign_;
  }

  const NeighbourLists& truth_;
  const NeighbourLists& run_;
  const RecallOptions& options_;
  double sign_;
  recall_room::TruthCheck check_;
  std::optional<recall_room::PairKeys> pairs_;
  std::vector<double> truth_keys_;
  std::vector<double> run_keys_;
};

double judge(const QueryLists& lists, const TieCount& ties, RecallDefinition definition) {
  const auto k = static_cast<double>(lists.k);
  const auto neighbours = static_cast<double>(ties.neighbours);
  switch (definition) {
    case RecallDefinition::tie: return static_cast<double>(ties.found) / neighbours;
    case RecallDefinition::strict: return static_cast<double>(ties.strict) / neighbours;
    case RecallDefinition::ann_benchmarks:
      return static_cast<double>(recall_room::count_ann_benchmarks(lists, kAnnBenchmarksEpsilon)) / k;
    case RecallDefinition::big_ann: return static_cast<double>(recall_room::count_big_ann(lists)) / k;
    case RecallDefinition::diskann: return static_cast<double>(recall_room::count_diskann(lists)) / k;
    case RecallDefinition::faiss: break;
  }
  return static_cast<double>(recall_room::count_faiss(lists)) / k;
}

bool leaves_out_empty(RecallDefinition definition) {
  return definition == RecallDefinition::tie || definition == RecallDefinition::strict;
}

void summarize(RecallResult& result) {
  std::vector<double> recalls;
  double sum = 0;
  double sum_strict = 0;
  Index with_neighbours = 0;
  for (const QueryRecall& query : result.per_query) {
    result.repeats += query.repeats;
    result.missing += query.missing;
    result.tied += query.tied ? 1 : 0;
    result.tie_overflow += query.tie_overflow ? 1 : 0;
    if (query.neighbours > 0) {
      sum_strict += query.strict;
      ++with_neighbours;
    }
    if (std::isnan(query.recall)) {
      ++result.excluded;
      continue;
    }
    recalls.push_back(query.recall);
    sum += query.recall;
  }
  std::sort(recalls.begin(), recalls.end());
  result.recall = sum / static_cast<double>(recalls.size());
  result.recall_strict = sum_strict / static_cast<double>(with_neighbours);
  result.min = support::nearest_rank(recalls, 0);
  result.p1 = support::nearest_rank(recalls, 1);
  result.p5 = support::nearest_rank(recalls, 5);
  result.p50 = support::nearest_rank(recalls, 50);
}

void check_definition(const NeighbourLists& truth, const NeighbourLists& run, const RecallOptions& options) {
  if (options.definition != RecallDefinition::ann_benchmarks || recomputes(options)) return;
  if (truth.distances.empty() || run.distances.empty()) {
    fail(ErrorCode::invalid_argument,
         "ann-benchmarks compares distances, and {} has none: give base and queries, or files with distances",
         truth.distances.empty() ? "truth" : "run");
  }
  if (recall_room::direction(truth) < 0) {
    fail(ErrorCode::invalid_argument, "ann-benchmarks' recall wants distances that ascend, the truth's descend: use big-ann or tie");
  }
}

}  // namespace

RecallResult recall(const NeighbourLists& truth, const NeighbourLists& run, const RecallOptions& options) {
  recall_room::check_lists(truth, run, options);
  check_definition(truth, run, options);
  RecallResult result;
  result.queries = truth.rows;
  KeySource source(truth, run, options);
  for (Index query = 0; query < truth.rows; ++query) {
    const QueryLists lists = source.lists(query);
    const TieCount ties = recall_room::count_ties(lists);
    const bool excluded = ties.neighbours == 0 && leaves_out_empty(options.definition);
    const double none = std::numeric_limits<double>::quiet_NaN();
    result.nearer_than_truth += ties.nearer_than_truth ? 1 : 0;
    result.per_query.push_back(
        {.recall = excluded ? none : judge(lists, ties, options.definition),
         .strict = ties.neighbours > 0 ? static_cast<double>(ties.strict) / static_cast<double>(ties.neighbours) : none,
         .neighbours = ties.neighbours, .repeats = ties.repeats, .missing = ties.missing, .tied = ties.tied,
         .tie_overflow = ties.tie_overflow});
  }
  source.finish();
  summarize(result);
  return result;
}

}  // namespace tessera
