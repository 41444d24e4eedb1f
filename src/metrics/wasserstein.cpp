// SPDX-License-Identifier: Apache-2.0
// wasserstein: W_p of two distributions on the line, the L_p norm of the difference of their quantile functions; its own key and
// its own report. The sum over quantile segments is defined in docs/numerics.md and computed by engine/quantile_pairs.
#include <limits>

#include "metrics/shared.hpp"

namespace tessera::metrics {

constinit const MetricTraits list::wasserstein = {
    .metric = Metric::wasserstein,
    .canonical = Element::absolute_difference,  // of sketches: block means of the quantile function
    .unit_rows = false,
    .key = same,
    .z_of_key = same,
    .z_cap = std::numeric_limits<double>::infinity(),
    .report = same,
    .pad = std::numeric_limits<double>::infinity(),
    .direct = BoundForm::direct_linear,
    .direct_element = Element::absolute_difference,
    .has_direct = true,
    .dot = BoundForm::dot_squared,
    .has_dot = false,
    .distributions = true};

}  // namespace tessera::metrics
