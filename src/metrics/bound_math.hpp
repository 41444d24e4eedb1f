// SPDX-License-Identifier: Apache-2.0
// The brackets' arithmetic, for the host and for kernels of the GPU. Included by bound.hpp alone.
#pragma once

#include <cmath>
#include <limits>

#include "metrics/bound.hpp"

namespace tessera::metrics {
namespace bound_detail {

inline constexpr double kHalfUlp32 = 0x1p-24;  // u
inline constexpr double kHalfUlp64 = 0x1p-53;  // U
// Rounding of the few double operations below that no other term covers.
inline constexpr double kOutward = 1 + 0x1p-40;
inline constexpr double kInward = 1 - 0x1p-40;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

TESSERA_HOST_DEVICE inline bool is_direct(BoundForm form) noexcept { return form == BoundForm::direct_root || form == BoundForm::direct_linear; }

/// Moves a bound away from what it bounds, whatever its sign.
TESSERA_HOST_DEVICE inline double away_up(double value) noexcept { return value * (value > 0 ? kOutward : kInward); }
TESSERA_HOST_DEVICE inline double away_down(double value) noexcept { return value * (value > 0 ? kInward : kOutward); }

// As std::max and std::min, which a GPU does not have.
TESSERA_HOST_DEVICE inline double larger(double a, double b) noexcept { return a < b ? b : a; }
TESSERA_HOST_DEVICE inline double smaller(double a, double b) noexcept { return b < a ? b : a; }

}  // namespace bound_detail

TESSERA_HOST_DEVICE inline float float_up(double value) noexcept {
  const double raised = value + std::abs(value) * 0x1p-23 + 0x1p-149;
  return static_cast<float>(raised < -kLargestFloat || value == -static_cast<double>(bound_detail::kInfinity) ? -static_cast<double>(kLargestFloat) : raised);
}
TESSERA_HOST_DEVICE inline float float_down(double value) noexcept { return -float_up(-value); }

/// True when z is known, and a float holds it.
TESSERA_HOST_DEVICE inline bool PairBound::exact(float score, float& z) const noexcept {
  if (!(std::abs(score) < exact_below_)) return false;
  const double sum = static_cast<double>(score) + shift_;  // of whole numbers below 2^53
  z = static_cast<float>(sum);
  return static_cast<double>(z) == sum;
}

TESSERA_HOST_DEVICE inline float PairBound::lower(float score) const noexcept {
  if (float whole = 0; exact(score, whole)) return whole;
  if (root_brackets_) return root_lower(score);
  if (!(std::abs(score) < bound_detail::kInfinity)) return -bound_detail::kInfinity;
  const double z = score * lower_factor_ + lower_offset_;
  return float_down(z - std::abs(z) * relative_ - absolute_);
}

TESSERA_HOST_DEVICE inline float PairBound::upper(float score) const noexcept {
  if (float whole = 0; exact(score, whole)) return whole;
  if (root_brackets_) return root_upper(score);
  if (!(std::abs(score) < bound_detail::kInfinity)) return bound_detail::kInfinity;
  const double z = score * upper_factor_ + upper_offset_;
  return float_up(z + std::abs(z) * relative_ + absolute_);
}

TESSERA_HOST_DEVICE inline PairBound::PairBound(const BoundContext& c, const RowTerms& x, const RowTerms& y) noexcept : rel_(c.rel), canonical_eta_(c.canonical_eta) {
  if (bound_detail::is_direct(c.form)) {
    rho_ = c.gamma;
    eta_ = c.eta;
    slack_ = c.inflate * (x.residual + y.residual + c.fold_slack) * bound_detail::kOutward;
    root_ = c.form == BoundForm::direct_root && slack_ > 0;
    root_brackets_ = root_;
    prepare_linear();
    return;
  }
  const double product = x.norm * y.norm;
  // A coarse score has the base row's part of e taken off already, row by row.
  const double folded = c.by_row ? static_cast<double>(score_reach(c, x)) * static_cast<double>(float_up(y.residual)) : 0;
  const double base_part = c.by_row ? 0 : (x.norm + x.residual) * y.residual;
  const double e = base_part + x.residual * y.norm + c.gamma * product + c.eta;
  const double g = (1 + c.gamma) * product;
  const double roundings = (c.by_row ? 4 : 3) * bound_detail::kHalfUlp32;
  double slack = 0;
  if (c.form == BoundForm::dot_squared) {
    shift_ = x.norm2;
    // canonical_u also covers this file's own double arithmetic on shift and score (two sums of that size).
    slack = 2 * e + roundings * (y.norm2 + 2 * g + folded) + c.canonical_u * (x.norm2 + y.norm2);
  } else {
    shift_ = -x.dot_centre;
    slack = e + roundings * (g + folded) + c.canonical_u * x.norm * (y.norm + 2 * c.centre_norm);
  }
  slack_ = c.inflate * slack * bound_detail::kOutward;
  above_ = 2 * folded * bound_detail::kOutward;
  prepare_linear();
  if (!c.whole || x.residual > 0 || y.residual > 0) return;
  // Every partial sum of the products is within `product`, in units of s^2 a whole number, and so are norm2 and the score.
  const double floats = 0x1p24 * c.z_scale;
  const double doubles = 0x1p52 * c.z_scale;
  const double canonical = x.norm * (y.norm + c.centre_norm);  // of inner products, which nothing centres
  if (product <= floats && y.norm2 <= floats && x.norm2 <= doubles && canonical <= doubles) exact_below_ = static_cast<float>(floats);
}

TESSERA_HOST_DEVICE inline void PairBound::prepare_linear() noexcept {
  upper_factor_ = 1 + 2 * rho_;
  upper_offset_ = shift_ + above_ + eta_ * upper_factor_;
  lower_factor_ = 1 - rho_;
  lower_offset_ = shift_ - eta_;
  // The score's own sum rounds once more here than the terms above know; 2^-39 of z covers it and the steps that follow.
  relative_ = rel_ + 0x1p-39;
  absolute_ = (slack_ * (1 + rel_) + canonical_eta_) * bound_detail::kOutward;
}

TESSERA_HOST_DEVICE inline float score_reach(const BoundContext& c, const RowTerms& x) noexcept {
  return float_up(c.inflate * (c.form == BoundForm::dot_squared ? 2 : 1) * (x.norm + x.residual) * bound_detail::kOutward);
}

/// 2 w slack <= share w^2 + slack^2 / share, for any share; equal at w = slack / share.
TESSERA_HOST_DEVICE inline double PairBound::share_near(double z) const noexcept {
  return bound_detail::smaller(0.25, slack_ / std::sqrt(bound_detail::larger(z, 0x1p-900)));
}

TESSERA_HOST_DEVICE inline void PairBound::linearise(double z) noexcept {
  if (!root_) return;
  const double share = share_near(z);
  const double offset = slack_ * slack_ / share;
  upper_factor_ = (1 + 2 * rho_) * (1 + share) * bound_detail::kOutward;
  upper_offset_ = (eta_ * upper_factor_ + slack_ * slack_ + offset) * bound_detail::kOutward;
  lower_factor_ = (1 - rho_) * (1 - share) * bound_detail::kInward;
  lower_offset_ = -(eta_ + offset) * bound_detail::kOutward;
  absolute_ = (canonical_eta_ + 0x1p-38 * (eta_ + offset)) * bound_detail::kOutward;
  root_brackets_ = false;
}

TESSERA_HOST_DEVICE inline float PairBound::threshold(double tau) const noexcept {
  if (std::isinf(tau)) return static_cast<float>(tau);
  double t = bound_detail::away_up(tau + std::abs(tau) * rel_ + canonical_eta_);
  if (root_) {
    t = std::sqrt(t) + slack_;
    t = t * t;
  } else {
    t = t - shift_ + slack_;
  }
  return float_up(bound_detail::away_up(t * (1 + rho_) + eta_));
}

namespace bound_detail {

/// Far enough above a value for the sum of two such to be rounded down once; never so low that the sum of two is -inf.
TESSERA_HOST_DEVICE inline float summand_up(double value) noexcept {
  const float raised = float_up(value + std::abs(value) * 0x1p-23);
  return raised < -kLargestFloat / 2 ? -kLargestFloat / 2 : raised;
}

}  // namespace bound_detail

TESSERA_HOST_DEVICE inline float PairBound::limit_of(const BoundContext& c, double tau) noexcept {
  if (std::isinf(tau)) return static_cast<float>(tau);
  return bound_detail::summand_up(bound_detail::away_up(tau + std::abs(tau) * c.rel + c.canonical_eta));
}

TESSERA_HOST_DEVICE inline float PairBound::offset() const noexcept { return bound_detail::summand_up(slack_ - shift_); }

TESSERA_HOST_DEVICE inline float PairBound::root_lower(float score) const noexcept {
  if (!(std::abs(score) < bound_detail::kInfinity)) return -bound_detail::kInfinity;
  double z = bound_detail::larger(0.0, static_cast<double>(score) - eta_) * (1 - rho_);
  z = bound_detail::larger(0.0, std::sqrt(z) - slack_);
  z = z * z;
  return float_down(bound_detail::away_down(z - std::abs(z) * rel_ - canonical_eta_));
}

TESSERA_HOST_DEVICE inline float PairBound::root_upper(float score) const noexcept {
  if (!(std::abs(score) < bound_detail::kInfinity)) return bound_detail::kInfinity;
  double z = (score + eta_) * (1 + 2 * rho_);
  z = std::sqrt(z) + slack_;
  z = z * z;
  return float_up(bound_detail::away_up(z + std::abs(z) * rel_ + canonical_eta_));
}

}  // namespace tessera::metrics
