// SPDX-License-Identifier: Apache-2.0
// Here: what the answer is, from docs/numerics.md alone: one plain double loop that shares no arithmetic with the library.
// Not here: anything fast. Only the option types and RowSet come from the library.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/options.hpp"
#include "tessera/rows.hpp"

namespace tessera::oracle {

/// One stored element as a double.
double element(const RowSet& rows, Index row, Index col);

/// A row as the metric takes it: doubles, divided by the norm for cosine.
std::vector<double> read_row(const RowSet& rows, Index row, Metric metric);

/// The canonical sum (or maximum) of two rows as read_row() gives them; before the clamp and the sign of a key.
double canonical_sum(Metric metric, const std::vector<double>& x, const std::vector<double>& y);

struct Answer {
  Index k = 0;
  std::vector<std::int64_t> ids;  // [nq, k]
  std::vector<double> distances;  // [nq, k], as reported, before any rounding to float32
};

struct Question {
  Metric metric = Metric::l2;
  SelfMode self = SelfMode::none;
  bool skip_nan = false;
  Index k = 1;
};

Answer knn(const RowSet& queries, const RowSet& base, const Question& question);

}  // namespace tessera::oracle
