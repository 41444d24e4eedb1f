// SPDX-License-Identifier: Apache-2.0
// inner_product: canonical sum lanes16(x*y), key 0.0 - sum (so that -0 never appears), reported descending.
#include <limits>

#include "metrics/shared.hpp"

namespace tessera::metrics {
namespace {

double negated(double value) { return 0.0 - value; }

}  // namespace

constinit const MetricTraits list::inner_product = {
    .metric = Metric::inner_product,
    .canonical = Element::product,
    .unit_rows = false,
    .key = negated,
    .z_of_key = same,
    .z_cap = std::numeric_limits<double>::infinity(),
    .report = negated,
    .pad = -std::numeric_limits<double>::infinity(),
    .direct = BoundForm::direct_root,
    .direct_element = Element::product,
    .has_direct = false,
    .dot = BoundForm::dot_product,
    .has_dot = true};

}  // namespace tessera::metrics
