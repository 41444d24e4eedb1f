// SPDX-License-Identifier: Apache-2.0
#include "metrics/bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::metrics {
namespace {

constexpr double kHalfUlp32 = 0x1p-24;  // u
constexpr double kHalfUlp64 = 0x1p-53;  // U
// Rounding of the few double operations below that no other term covers.
constexpr double kOutward = 1 + 0x1p-40;
constexpr double kInward = 1 - 0x1p-40;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// An exact integer is rounded to float, times a column's step, times a row's: three roundings.
constexpr double kIntegerGamma = 3.01 * kHalfUlp32;

double chain_gamma(double terms) noexcept { return terms * kHalfUlp32 / (1 - terms * kHalfUlp32); }

bool is_direct(BoundForm form) noexcept { return form == BoundForm::direct_root || form == BoundForm::direct_linear; }

/// Moves a bound away from what it bounds, whatever its sign.
double away_up(double value) noexcept { return value * (value > 0 ? kOutward : kInward); }
double away_down(double value) noexcept { return value * (value > 0 ? kInward : kOutward); }

}  // namespace

BoundContext make_context(BoundForm form, Index cols, double z_scale, double centre_norm, double inflate, bool integers) noexcept {
  const auto d = static_cast<double>(cols);
  const double lanes = std::ceil(d / 16);
  BoundContext c{.form = form, .d = cols, .z_scale = z_scale, .centre_norm = centre_norm, .inflate = inflate, .integers = integers};
  // Direct chains round the difference (its square twice) and the sum; numerics.md counts d + 2.
  c.gamma = (is_direct(form) ? inflate * chain_gamma(d + 2) : integers ? kIntegerGamma : chain_gamma(d)) * kOutward;
  c.eta = d * 0x1p-148;
  // A product of the canonical sum that underflows loses at most 2^-1075; plain differences lose nothing.
  c.canonical_eta = form == BoundForm::direct_linear ? 0 : d * 0x1p-1073 * std::max(z_scale, 1.0);
  // The inner product's canonical rounding is absolute, see below; the others' is relative to z.
  c.rel = form == BoundForm::dot_product ? 0 : 2 * (lanes + 6) * kHalfUlp64;
  c.canonical_u = (lanes + 16) * kHalfUlp64;
  return c;
}

PairBound::PairBound(const BoundContext& c, const RowTerms& x, const RowTerms& y) noexcept : rel_(c.rel), canonical_eta_(c.canonical_eta) {
  if (is_direct(c.form)) {
    rho_ = c.gamma;
    eta_ = c.eta;
    slack_ = c.inflate * (x.residual + y.residual + c.fold_slack) * kOutward;
    root_ = c.form == BoundForm::direct_root && slack_ > 0;
    root_brackets_ = root_;
    prepare_linear();
    return;
  }
  const double product = x.norm * y.norm;
  // An 8-bit score has the base row's part of e taken off already, row by row.
  const double folded = c.integers ? static_cast<double>(score_reach(c, x)) * static_cast<double>(float_up(y.residual)) : 0;
  const double base_part = c.integers ? 0 : (x.norm + x.residual) * y.residual;
  const double e = base_part + x.residual * y.norm + c.gamma * product + c.eta;
  const double g = (1 + c.gamma) * product;
  const double roundings = (c.integers ? 4 : 3) * kHalfUlp32;
  double slack = 0;
  if (c.form == BoundForm::dot_squared) {
    shift_ = x.norm2;
    // canonical_u also covers this file's own double arithmetic on shift and score (two sums of that size).
    slack = 2 * e + roundings * (y.norm2 + 2 * g + folded) + c.canonical_u * (x.norm2 + y.norm2);
  } else {
    shift_ = -x.dot_centre;
    slack = e + roundings * (g + folded) + c.canonical_u * x.norm * (y.norm + 2 * c.centre_norm);
  }
  slack_ = c.inflate * slack * kOutward;
  above_ = 2 * folded * kOutward;
  prepare_linear();
}

void PairBound::prepare_linear() noexcept {
  upper_factor_ = 1 + 2 * rho_;
  upper_offset_ = shift_ + above_ + eta_ * upper_factor_;
  lower_factor_ = 1 - rho_;
  lower_offset_ = shift_ - eta_;
  // The score's own sum rounds once more here than the terms above know; 2^-39 of z covers it and the steps that follow.
  relative_ = rel_ + 0x1p-39;
  absolute_ = (slack_ * (1 + rel_) + canonical_eta_) * kOutward;
}

float score_reach(const BoundContext& c, const RowTerms& x) noexcept {
  return float_up(c.inflate * (c.form == BoundForm::dot_squared ? 2 : 1) * (x.norm + x.residual) * kOutward);
}

/// 2 w slack <= share w^2 + slack^2 / share, for any share; equal at w = slack / share.
double PairBound::share_near(double z) const noexcept { return std::min(0.25, slack_ / std::sqrt(std::max(z, 0x1p-900))); }

void PairBound::linearise(double z) noexcept {
  if (!root_) return;
  const double share = share_near(z);
  const double offset = slack_ * slack_ / share;
  upper_factor_ = (1 + 2 * rho_) * (1 + share) * kOutward;
  upper_offset_ = (eta_ * upper_factor_ + slack_ * slack_ + offset) * kOutward;
  lower_factor_ = (1 - rho_) * (1 - share) * kInward;
  lower_offset_ = -(eta_ + offset) * kOutward;
  absolute_ = (canonical_eta_ + 0x1p-38 * (eta_ + offset)) * kOutward;
  root_brackets_ = false;
}

ThresholdLine PairBound::threshold_line(double z) const noexcept {
  constexpr double kNarrowed = 1 + 0x1p-22;     // float_up moves a value by less
  constexpr double kNarrowedFrom = 0x1p-148;    // and by less than this where it is small
  double slope = 1;
  double offset = 0;
  const auto then = [&](double factor, double term) {
    slope *= factor * kOutward;
    offset = (offset * factor + term) * kOutward;
  };
  const double share = root_ ? share_near(z) : 0;
  const double rooted = root_ ? slack_ * slack_ + slack_ * slack_ / share : 0;  // (w + slack)^2 <= (1 + share) w^2 + this
  then(1 + 2 * rho_, eta_ * (1 + 2 * rho_));  // upper()
  then(1 + share, rooted);
  then(1 + relative_, root_ ? canonical_eta_ : absolute_);
  then(kNarrowed, kNarrowedFrom);
  then(1 + rel_, canonical_eta_);  // threshold()
  then(1 + share, root_ ? rooted : slack_);
  then(1 + rho_, eta_);
  then(kNarrowed, kNarrowedFrom);
  then(kNarrowed, 2 * kNarrowedFrom);  // the product and the sum in float32
  return {.slope = float_up(slope), .offset = float_up(offset), .cap = kInfinity};
}

float PairBound::threshold(double tau) const noexcept {
  if (std::isinf(tau)) return static_cast<float>(tau);
  double t = away_up(tau + std::abs(tau) * rel_ + canonical_eta_);
  if (root_) {
    t = std::sqrt(t) + slack_;
    t = t * t;
  } else {
    t = t - shift_ + slack_;
  }
  return float_up(away_up(t * (1 + rho_) + eta_));
}

float PairBound::root_lower(float score) const noexcept {
  if (!(std::abs(score) < kInfinity)) return -kInfinity;
  double z = std::max(0.0, static_cast<double>(score) - eta_) * (1 - rho_);
  z = std::max(0.0, std::sqrt(z) - slack_);
  z = z * z;
  return float_down(away_down(z - std::abs(z) * rel_ - canonical_eta_));
}

float PairBound::root_upper(float score) const noexcept {
  if (!(std::abs(score) < kInfinity)) return kInfinity;
  double z = (score + eta_) * (1 + 2 * rho_);
  z = std::sqrt(z) + slack_;
  z = z * z;
  return float_up(away_up(z + std::abs(z) * rel_ + canonical_eta_));
}

}  // namespace tessera::metrics
