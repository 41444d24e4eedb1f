// SPDX-License-Identifier: Apache-2.0
// Here: proven brackets between a screen's fp32 score and the canonical double it stands for (docs/numerics.md derives
// each line). Not here: scores (kernels/) and decisions (select/). Everything but make_context() also runs on a GPU.
//
// Everything is in scaled units: rows were multiplied by an exact power of two s, so squared values by s^2 (z_scale).
#pragma once

#include <cmath>
#include <limits>

#include "metrics/threshold_line.hpp"
#include "metrics/traits.hpp"
#include "support/host_device.hpp"
#include "tessera/rows.hpp"

namespace tessera::metrics {

inline constexpr float kLargestFloat = std::numeric_limits<float>::max();

/// What all pairs of one call share. Made once by make_context(), which fills the constants.
struct BoundContext {
  BoundForm form = BoundForm::dot_squared;
  Index d = 0;
  double z_scale = 1;       // scaled z = z * z_scale: s^2 for squared forms and products, s for linear ones
  double centre_norm = 0;   // |c|, scaled, rounded up
  double inflate = 1;       // 1; tests set 0.5 to see a broken bound found out
  double fold_slack = 0;    // periodic: what folding in fp32 may do to the root of a score, scaled
  bool whole = false;       // elements on both sides are whole numbers of 16 bits at most: scores of the dot forms may be exact
  bool by_row = false;      // rows are coarse (8-bit, bf16): the score itself has the base row's own residual taken off

  double gamma = 0;          // relative error of the chain
  double eta = 0;            // underflow inside it
  double rel = 0;            // relative rounding of the canonical sum
  double canonical_eta = 0;  // underflow inside it
  double canonical_u = 0;    // (lanes + 16) U: the canonical sum's absolute rounding, and this file's own
};
/// integers: of products of 8-bit integers, whose sum is exact, instead of an fp32 chain.
BoundContext make_context(BoundForm form, Index d, double z_scale, double centre_norm, double inflate, bool integers = false) noexcept;
/// The context of the same dot screen with products of bf16, two added a step as AVX512_BF16 does.
BoundContext make_bf16_context(const BoundContext& fp32) noexcept;
/// The context of the same dot screen with products of bf16 summed by tensor cores, within gamma of the sum of their sizes.
BoundContext make_tensor_context(const BoundContext& fp32, double gamma) noexcept;

/// What one packed row contributes. For a tile of base rows: the largest of each, over its rows.
struct RowTerms {
  double norm2 = 0;    // |fl(x - c)|^2
  double norm = 0;     // N(packed row), rounded up
  double residual = 0; // eps: N(x - c - packed row), rounded up; the norm is the form's own (2, 1 or max)
  double dot_centre = 0;  // <x, c>, queries of inner_product only
};

/// The bracket of one query row against one tile: z within bound.lower(s) .. bound.upper(s), and
/// s > bound.threshold(tau) proves z > tau. A score that is not finite has an infinite bracket. Where both ends are one number, z is
/// exactly that, and not otherwise (BoundContext::whole).
class PairBound {
 public:
  PairBound() = default;
  TESSERA_HOST_DEVICE PairBound(const BoundContext& context, const RowTerms& query, const RowTerms& tile) noexcept;

  /// Where BoundContext::by_row: the score already has reach * col_residual taken off, for the base row's own residual; see score_reach().
  TESSERA_HOST_DEVICE float threshold(double tau) const noexcept;
  TESSERA_HOST_DEVICE float lower(float score) const noexcept;
  TESSERA_HOST_DEVICE float upper(float score) const noexcept;

  /// Of dot forms: threshold(tau) in two parts, for kernels that add them. However fp32 rounds their sum, a score greater than it proves z > tau.
  TESSERA_HOST_DEVICE static float limit_of(const BoundContext& context, double tau) noexcept;
  TESSERA_HOST_DEVICE float offset() const noexcept;

  /// Of forms by way of a root: brackets linear in the score from now on. They are as tight where z is about this, and right everywhere.
  TESSERA_HOST_DEVICE void linearise(double z) noexcept;

  /// Of direct forms: a line that is nowhere below threshold(upper(score)), close to it where z is about this. No cap.
  ThresholdLine threshold_line(double z) const noexcept;

 private:
  TESSERA_HOST_DEVICE double share_near(double z) const noexcept;
  TESSERA_HOST_DEVICE void prepare_linear() noexcept;
  TESSERA_HOST_DEVICE bool exact(float score, float& z) const noexcept;
  TESSERA_HOST_DEVICE float root_lower(float score) const noexcept;
  TESSERA_HOST_DEVICE float root_upper(float score) const noexcept;

  bool root_ = false;  // slack adds to the root of the score, not to the score
  bool root_brackets_ = false;  // and so do brackets
  double shift_ = 0;   // true z = score + shift, up to slack (additive forms)
  double slack_ = 0;   // absolute: what narrowing and the fp32 chain may add
  double above_ = 0;   // more of it, upwards only: what a score has had taken off by row, and what that was for
  double rho_ = 0;     // relative error of the score itself (direct forms)
  double eta_ = 0;     // underflow inside the score
  double rel_ = 0;     // relative rounding of the canonical sum
  double canonical_eta_ = 0;  // underflow inside the canonical sum
  // Without a root both ends are linear in the score: z = score * factor + offset, then z +- (|z| relative + absolute).
  double upper_factor_ = 1, upper_offset_ = 0;
  double lower_factor_ = 1, lower_offset_ = 0;
  double relative_ = 0;
  double absolute_ = 0;
  float exact_below_ = 0;  // smaller scores are exact
};

/// Where BoundContext::by_row: what a score of this query takes off for every unit of the base row's residual. An upper bound.
TESSERA_HOST_DEVICE float score_reach(const BoundContext& context, const RowTerms& query) noexcept;

/// A float at or above / below a double, at most two ulps away where float reaches that far. A bound past the other end of float
/// stops at its largest number: -inf above a value would dismiss everything. NaN stays.
TESSERA_HOST_DEVICE float float_up(double value) noexcept;
TESSERA_HOST_DEVICE float float_down(double value) noexcept;

}  // namespace tessera::metrics

#include "metrics/bound_math.hpp"  // the definitions, inline
