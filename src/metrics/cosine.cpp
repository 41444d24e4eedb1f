// SPDX-License-Identifier: Apache-2.0
// cosine: min(2, lanes16((u-v)^2) / 2) on unit rows u = x/|x|. Never 1 - <u,v>: that cancels for near neighbours.
#include <limits>

#include "metrics/shared.hpp"

namespace tessera::metrics {
namespace {

double half_clamped(double sum) {
  const double half = 0.5 * sum;  // exact
  return half < 2.0 ? half : 2.0;
}

/// Antiparallel rows may sum to a little over 4; the clamp makes them all tie at 2, whatever their z.
double doubled_unclamped(double key) { return key < 2.0 ? 2.0 * key : std::numeric_limits<double>::infinity(); }

}  // namespace

constinit const MetricTraits list::cosine = {
    .metric = Metric::cosine,
    .canonical = Element::squared_difference,
    .unit_rows = true,
    .key = half_clamped,
    .z_of_key = doubled_unclamped,
    .z_cap = 4.0,
    .report = same,
    .pad = std::numeric_limits<double>::infinity(),
    .direct = BoundForm::direct_root,
    .direct_element = Element::squared_difference,
    .has_direct = true,
    .dot = BoundForm::dot_squared,
    .has_dot = true,
    .value = {.factor = 0.5, .cap = 2.0}};

}  // namespace tessera::metrics
