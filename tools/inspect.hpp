// SPDX-License-Identifier: Apache-2.0
// Here: statistics over the rows of a set, and what they suggest. Not here: how they are printed.
#pragma once

#include <string>
#include <vector>

#include "tessera/progress.hpp"
#include "tessera/rows.hpp"

namespace tessera::cli {

/// What a pass over rows 0, step, 2*step, ... found. Norms and values are over finite rows only.
struct RowStatistics {
  Index inspected = 0;
  Index step = 1;              // 1: every row; more: a sample
  Index non_finite = 0;        // rows with a NaN or an infinity
  Index zero = 0;              // rows of zeros only
  Index duplicates = 0;        // finite rows equal to an earlier one, by a 64-bit hash of their values
  double norm_min = 0;         // Euclidean; all four are 0 without a finite row
  double norm_max = 0;
  double value_min = 0;
  double value_max = 0;
  bool all_integers = true;    // every finite value is a whole number
  bool fits_float32 = true;    // every finite value is a float32
};

/// Inspects at most `most_rows` rows, evenly spaced.
///
/// most_rows  ≥ 1.
/// progress   phase "inspect", counted in rows; may be empty.
/// cost       one pass over the inspected rows; 8 bytes a row of scratch.
RowStatistics inspect(const RowSet& rows, Index most_rows, const ProgressFunction& progress = {});

/// What a user may want to know: "all norms are 1: ...". One sentence each.
std::vector<std::string> find_hints(const RowSet& rows, const RowStatistics& statistics);

}  // namespace tessera::cli
