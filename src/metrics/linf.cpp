// SPDX-License-Identifier: Apache-2.0
// linf: the largest |x-y|, its own key and its own report.
#include <limits>

#include "metrics/shared.hpp"

namespace tessera::metrics {

constinit const MetricTraits list::linf = {
    .metric = Metric::linf,
    .canonical = Element::maximum_difference,
    .unit_rows = false,
    .key = same,
    .z_of_key = same,
    .z_cap = std::numeric_limits<double>::infinity(),
    .report = same,
    .pad = std::numeric_limits<double>::infinity(),
    .direct = BoundForm::direct_linear,
    .direct_element = Element::maximum_difference,
    .has_direct = true,
    .dot = BoundForm::dot_squared,
    .has_dot = false};

}  // namespace tessera::metrics
