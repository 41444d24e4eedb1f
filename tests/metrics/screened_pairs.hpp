// SPDX-License-Identifier: Apache-2.0
// Here: rows taken through prepare::narrow_* and a screen kernel, pair by pair, beside the canonical value each score stands for.
// Not here: the engine; a pair's bracket is judged before anything is selected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/contract.hpp"
#include "metrics/bound.hpp"
#include "support/data.hpp"
#include "tessera/metric.hpp"
#include "tessera/options.hpp"
#include "tessera/rows.hpp"

namespace tessera::testing {

/// One query against one base row.
struct ScreenedPair {
  metrics::RowTerms query;
  metrics::RowTerms base;
  metrics::RowTerms tile;  // maxima over all base rows
  float score = 0;
  long double z = 0;       // canonical, in scaled units; 64 bits of mantissa and a range that no scaling leaves
};

struct ScreenedPairs {
  metrics::BoundContext context;
  std::vector<ScreenedPair> pairs;  // pairs without a bound (bypassing rows) are left out
  Index bypassed = 0;
};

/// centred_on: the rows that choose centre and scale (usually the base itself).
ScreenedPairs screen_all(const kernels::CpuKernels& kernels, Metric metric, bool dot, const RowSet& queries, const RowSet& base, const RowSet& centred_on);
inline ScreenedPairs screen_all(const kernels::CpuKernels& kernels, Metric metric, bool dot, const RowSet& queries, const RowSet& base) {
  return screen_all(kernels, metric, dot, queries, base, base);
}

/// The same through the 8-bit screen or that in bf16. `score` has the base row's own reach taken off, so a pair must be judged with `base` or `tile`.
ScreenedPairs screen_all_coarse(Screen screen, const kernels::CpuKernels& kernels, Metric metric, const RowSet& queries, const RowSet& base, const RowSet& centred_on, double inflation = 1);

/// Scores of one panel of narrowed rows, as the kernels compute them: every query row against every base row.
std::vector<float> scores_of(const kernels::CpuKernels& kernels, metrics::Element element, bool dot, float factor, const std::vector<std::vector<float>>& queries,
                             const std::vector<std::vector<float>>& base, const std::vector<float>& bias, Index d);

/// The same context with its slack multiplied.
metrics::BoundContext inflated(const metrics::BoundContext& context, double factor);

/// What a pair makes of its bound.
struct Verdict {
  bool bracket_holds = true;    // lower <= z <= upper
  bool threshold_holds = true;  // s > threshold(tau) only where z > tau, for tau around z
  bool parts_hold = true;       // the same of limit_of(tau) + offset(); dot forms only
  double parts_excess = 0;      // how far limit_of() + offset() lie above threshold(), of their sizes, but for subnormals
  double attained = 0;          // of the slack: (s - t0) / (t1 - t0), t0 and t1 the thresholds of z with none and all of it
};
Verdict judge(const metrics::BoundContext& context, const metrics::RowTerms& query, const metrics::RowTerms& base, float score, long double z);

// --- rows that attain bounds -----------------------------------------------------------------------------------------

/// A query, and a base row whose 8-bit residual points along it: the score errs by all that the base row's residual allows.
struct Int8Attainer {
  Matrix query;   // (0, 1, 1, ...), exact in 8 bits
  Matrix target;  // (127, 8.49, 8.49, ...) eighths: each 8.49 becomes 8
};
Int8Attainer int8_attainer();

/// Just under half a unit in the last place of a float in [1, 2).
inline constexpr double kAlmostHalfUlp = 0x1p-24 - 0x1p-44;

/// (1, small, small, ...): where an fp32 chain starts with 1, terms just below half a unit in its last place are lost one by
/// one, and terms just above it are each counted twice.
Matrix chain_row(Index d, double small);
inline constexpr double kLostTerm = 0x1p-24 * (1 - 0x1p-20);
inline constexpr double kLostFactor = 0x1p-12 * (1 - 0x1p-20);  // its square is lost
inline constexpr double kGainedTerm = 0x1p-24 * (1 + 0x1p-20);
inline constexpr double kGainedFactor = 0x1p-12 * (1 + 0x1p-20);

/// The row and its mirror image: their mean, on which rows are centred, is exactly 0.
Matrix mirrored(const Matrix& row);

/// Rows of one float64 near 1 whose score in dot_squared form errs by almost all that narrowing, product and bias can do together:
/// 7 of the 15 u that their slack amounts to, so 0.4 of the slack is too little (and would do without the narrowing's 4 u).
/// Found by a fixed search. Halving the slack is noticed by coarser packing than fp32 only (bound_test.cpp).
inline constexpr double kTooLittle = 0.4;
struct RowPair {
  double x;
  double y;
  double excluded_below;  // with 0.4 of the slack the bracket starts here, above (x - y)^2
};
std::optional<RowPair> narrowing_attainer(const kernels::CpuKernels& kernels);

}  // namespace tessera::testing
