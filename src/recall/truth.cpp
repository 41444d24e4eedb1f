// SPDX-License-Identifier: Apache-2.0
#include "recall/truth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/fail.hpp"

namespace tessera::recall_room {
namespace {

using support::fail;

void check_ids(const NeighbourLists& lists, const char* what, const RowSet& base) {
  const Index end = base.first_id + base.rows;
  for (std::size_t i = 0; i < lists.ids.size(); ++i) {
    const std::int64_t id = lists.ids[i];
    if (id < 0 || (id >= base.first_id && id < end)) continue;
    fail(ErrorCode::malformed_input, "{} row {}, column {}: id {}; the base has ids {} to {}: is it of another base, or are these distances?",
         what, static_cast<Index>(i) / lists.k, static_cast<Index>(i) % lists.k, id, base.first_id, end - 1);
  }
}

void check_shape(const NeighbourLists& lists, const char* what) {
  const auto want = static_cast<std::size_t>(lists.rows) * static_cast<std::size_t>(lists.k);
  if (lists.rows < 0 || lists.k < 1 || lists.ids.size() != want || (!lists.distances.empty() && lists.distances.size() != want)) {
    fail(ErrorCode::invalid_argument, "{}: {} ids and {} distances for {} lists of {}", what, lists.ids.size(), lists.distances.size(),
         lists.rows, lists.k);
  }
}

/// A truth lists every neighbour once, with a distance that is a number.
void check_truth(const NeighbourLists& truth) {
  std::vector<std::int64_t> ids;
  for (Index row = 0; row < truth.rows; ++row) {
    const auto first = static_cast<std::size_t>(row * truth.k);
    for (Index c = 0; c < truth.k && !truth.distances.empty(); ++c) {
      const std::size_t at = first + static_cast<std::size_t>(c);
      if (truth.ids[at] >= 0 && std::isnan(truth.distances[at])) {
        fail(ErrorCode::malformed_input, "truth row {}, column {}: its distance is NaN; wanted distances, or a file without them", row, c);
      }
    }
    ids.assign(truth.ids.begin() + static_cast<std::ptrdiff_t>(first), truth.ids.begin() + static_cast<std::ptrdiff_t>(first) + truth.k);
    std::ranges::sort(ids);
    const auto twice = std::adjacent_find(ids.begin(), ids.end(), [](std::int64_t a, std::int64_t b) { return a == b && a >= 0; });
    if (twice != ids.end()) fail(ErrorCode::malformed_input, "truth row {}: id {} is there twice; is it a run, or a file of distances?", row, *twice);
  }
}

void check_data(const RowSet& base, const RowSet& queries, const NeighbourLists& truth) {
  if (base.cols != queries.cols) {
    fail(ErrorCode::malformed_input, "queries have {} columns, the base has {}: wanted the same dimension", queries.cols, base.cols);
  }
  if (queries.rows != truth.rows) {
    fail(ErrorCode::malformed_input, "queries are {} rows, truth has {} lists: wanted one list a query", queries.rows, truth.rows);
  }
}

/// What tools store for a key: ours (a root for l2), its square, its half and double (DiskANN's cosine), a similarity.
bool explained(double stored, double key, Metric metric) {
  const double root = std::sqrt(std::max(0.0, key));
  const double values[] = {key, root, -key, 2 * key, 1 - key, metric == Metric::cosine ? std::sqrt(2 * std::max(0.0, key)) : key};
  return std::any_of(std::begin(values), std::end(values), [&](double value) {
    return std::abs(stored - value) <= 1e-2 * std::max(std::abs(stored), std::abs(value)) + 1e-3;  // float32 by expansion is that coarse
  });
}

}  // namespace

void check_lists(const NeighbourLists& truth, const NeighbourLists& run, const RecallOptions& options) {
  check_shape(truth, "truth");
  check_truth(truth);
  check_shape(run, "run");
  if (options.k < 1) fail(ErrorCode::invalid_argument, "k is {}: wanted at least 1", options.k);
  if (options.base.has_value() && !options.queries && options.definition == RecallDefinition::ann_benchmarks && run.distances.empty()) {
    fail(ErrorCode::invalid_argument, "a base without queries only checks ids: give queries too");
  }
  if (options.queries && !options.base) fail(ErrorCode::invalid_argument, "queries without a base: give both, or neither");
  if (truth.rows != run.rows) {
    fail(ErrorCode::malformed_input, "truth has {} lists, run has {}: wanted the same queries in the same order", truth.rows, run.rows);
  }
  if (truth.k < options.k) {
    fail(ErrorCode::malformed_input, "truth has {} columns, k is {}: a truth of at least k neighbours is needed; use -k {} or a deeper truth",
         truth.k, options.k, truth.k);
  }
  if (run.k < options.k) {
    fail(ErrorCode::malformed_input, "run has {} columns, k is {}: it was made for another k; use -k {}, or search again", run.k, options.k,
         run.k);
  }
  if (options.base) {
    check_ids(truth, "truth", *options.base);
    check_ids(run, "run", *options.base);
  }
  if (options.base && options.queries) check_data(*options.base, *options.queries, truth);
}

double direction(const NeighbourLists& truth) {
  Index up = 0;
  Index down = 0;
  for (Index row = 0; row < truth.rows && !truth.distances.empty(); ++row) {
    const auto first = static_cast<std::size_t>(row * truth.k);
    std::size_t last = first;  // of the entries that are no padding
    while (last + 1 < first + static_cast<std::size_t>(truth.k) && truth.ids[last + 1] >= 0) ++last;
    up += truth.distances[first] < truth.distances[last] ? 1 : 0;
    down += truth.distances[first] > truth.distances[last] ? 1 : 0;
  }
  return down > up ? -1 : 1;
}

void TruthCheck::add(const double* stored, const double* keys, const std::int64_t* ids, Index k) {
  double before = -std::numeric_limits<double>::infinity();
  for (Index i = 0; i < k; ++i) {
    if (ids[i] < 0) continue;
    if (i > 0) {
      ++steps_;
      backwards_ += keys[i] < before - 1e-3 * std::abs(before) ? 1 : 0;  // a truth by float32 may swap what lies close
    }
    before = keys[i];
    if (stored == nullptr) continue;
    ++compared_;
    strangers_ += explained(stored[i], keys[i], metric_) ? 0 : 1;
  }
}

void TruthCheck::finish() const {
  if (compared_ > 0 && strangers_ > compared_ / 2) {
    fail(ErrorCode::malformed_input,
         "truth: {} of {} distances are not those of this base and these queries under {}: another base, other queries or another metric?",
         strangers_, compared_, name_of(metric_));
  }
  // Ids of other data are in no order: about half of the steps fall.
  if (steps_ >= 8 && backwards_ > steps_ / 4) {
    fail(ErrorCode::malformed_input,
         "truth: {} of {} neighbours are nearer than the one before under {}: another base, other queries or another metric?", backwards_,
         steps_, name_of(metric_));
  }
}

}  // namespace tessera::recall_room
