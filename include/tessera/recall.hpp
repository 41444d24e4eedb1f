// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/export.hpp"
#include "tessera/io.hpp"
#include "tessera/metric.hpp"
#include "tessera/rows.hpp"

namespace tessera {

/// What counts as a right answer. All divide by k but `tie` and `strict`, which divide by the neighbours there are.
enum class RecallDefinition : std::uint8_t {
  tie,             ///< any k nearest rows are right: of rows tied at the k-th place, as many count as there are places
  strict,          ///< the k ids of the truth, ties broken as it breaks them
  ann_benchmarks,  ///< run distances within the k-th true distance + 1e-3
  big_ann,         ///< ids of the truth's first k and of what ties with the k-th (1e-6); ties are not capped
  diskann,         ///< the same with exact ties
  faiss            ///< common ids of both first k (knn_intersection_measure)
};

/// Names as the command spells them ("tie", "ann-benchmarks", ...).
TESSERA_API std::string_view name_of(RecallDefinition definition) noexcept;
TESSERA_API std::optional<RecallDefinition> parse_recall_definition(std::string_view name) noexcept;

struct RecallOptions {
  Index k = 10;
  RecallDefinition definition = RecallDefinition::tie;

  /// Both or neither. With them the distances of every id are computed anew, in double: ties past the truth's last column
  /// count, and a truth of other data is found out.
  std::optional<RowSet> base{};
  std::optional<RowSet> queries{};
  Metric metric = Metric::l2;  ///< read only with them
};

/// One query's share.
struct QueryRecall {
  double recall = 0;        // by the definition asked for; NaN when excluded
  double strict = 0;
  Index neighbours = 0;     // k' = min(k, true neighbours there are); 0: excluded
  Index repeats = 0;        // run ids dropped because they came before
  Index missing = 0;        // places the run left empty
  bool tied = false;        // more rows tie at the k-th place than there are places
  bool tie_overflow = false;  // that tie reaches the truth's last column, so rows past it may tie too
};

struct RecallResult {
  double recall = 0;  // mean over queries that are not excluded
  double recall_strict = 0;
  double min = 0;     // of the queries' recalls; percentiles by nearest rank
  double p1 = 0;
  double p5 = 0;
  double p50 = 0;
  Index queries = 0;
  Index excluded = 0;
  Index tied = 0;
  Index tie_overflow = 0;
  Index repeats = 0;
  Index missing = 0;
  Index nearer_than_truth = 0;  // queries whose run names rows nearer than the k-th true one that the truth lacks (recomputed)
  std::vector<QueryRecall> per_query;
};

/// Judges neighbour lists by true ones. Only the first k columns of `run` are looked at.
///
/// truth    [nq, at least k] ids, -1 for missing; with distances, ties are known. Rows ascending by distance (descending for
///          inner products).
/// run      [nq, any] ids, -1 for missing; distances are read by ann_benchmarks alone.
/// cost     O(nq * k * log k), and nq * (columns of both) distances when they are recomputed.
/// throws   Error{invalid_argument}: k < 1, only one of base and queries, a definition that lacks what it reads;
///          Error{malformed_input}: other numbers of queries, fewer than k true columns, an id past the base, distances that
///          are those of other data.
TESSERA_API RecallResult recall(const NeighbourLists& truth, const NeighbourLists& run, const RecallOptions& options);

}  // namespace tessera
