// SPDX-License-Identifier: Apache-2.0
#include "metrics/bound.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::metrics {
namespace {

using bound_detail::is_direct;
using bound_detail::kHalfUlp32;
using bound_detail::kHalfUlp64;
using bound_detail::kInfinity;
using bound_detail::kOutward;

// An exact integer is rounded to float, times a column's step, times a row's: three roundings.
constexpr double kIntegerGamma = 3.01 * kHalfUlp32;

double chain_gamma(double terms) noexcept { return terms * kHalfUlp32 / (1 - terms * kHalfUlp32); }

}  // namespace

BoundContext make_context(BoundForm form, Index cols, double z_scale, double centre_norm, double inflate, bool integers) noexcept {
  const auto d = static_cast<double>(cols);
  const double lanes = std::ceil(d / 16);
  BoundContext c{.form = form, .d = cols, .z_scale = z_scale, .centre_norm = centre_norm, .inflate = inflate, .by_row = integers};
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

BoundContext make_bf16_context(const BoundContext& fp32) noexcept {
  BoundContext c = fp32;
  const auto d = static_cast<double>(c.d);
  c.by_row = true;
  c.gamma = chain_gamma(d + 1) * kOutward;  // an odd d has a zero more
  c.eta = d * 0x1p-123;
  return c;
}

BoundContext make_tensor_context(const BoundContext& fp32, double gamma) noexcept {
  BoundContext c = fp32;
  c.by_row = true;
  c.gamma = gamma * kOutward;
  c.eta = static_cast<double>(c.d) * 0x1p-125;
  return c;
}

}  // namespace tessera::metrics
