// SPDX-License-Identifier: Apache-2.0
// Here: what counts as a right answer, query by query. Not here: files, distances, averages.
#pragma once

#include <span>
#include <vector>

#include "tessera/recall.hpp"

namespace tessera::recall_room {

/// One query as the definitions see it. Keys: smaller is nearer; empty where no distances are known.
struct QueryLists {
  std::span<const std::int64_t> truth;  // [all columns]
  std::span<const double> truth_keys;
  std::span<const std::int64_t> run;  // [at most k]
  std::span<const double> run_keys;
  Index k = 1;
  bool recomputed = false;  // keys were computed for every id: they tell tied rows that the truth does not list
};

/// Rows and places, as `tie` and `strict` count them.
struct TieCount {
  Index neighbours = 0;  // k'
  Index found = 0;       // right answers, tied places capped
  Index strict = 0;      // ids among the truth's first k'
  Index repeats = 0;
  Index missing = 0;
  bool tied = false;
  bool tie_overflow = false;
  bool nearer_than_truth = false;
};
TieCount count_ties(const QueryLists& lists);

/// The published definitions, as their tools compute them, quirks included: right answers among k.
Index count_ann_benchmarks(const QueryLists& lists, double epsilon);  // source: ann_benchmarks/plotting/metrics.py
Index count_big_ann(const QueryLists& lists);                         // source: benchmark/plotting/metrics.py
Index count_diskann(const QueryLists& lists);                         // source: calculate_recall, src/utils.cpp
Index count_faiss(const QueryLists& lists);                           // source: ranklist_intersection_size, utils.cpp

}  // namespace tessera::recall_room
