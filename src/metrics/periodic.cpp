// SPDX-License-Identifier: Apache-2.0
// periodic: the distance between nearest images, the least of |y - x + n cell| over whole numbers n; orders by the square, reports the root.
#include <cmath>
#include <limits>

#include "metrics/shared.hpp"

namespace tessera::metrics {
constinit const MetricTraits list::periodic = {
    .metric = Metric::periodic,
    .canonical = Element::squared_difference,
    .unit_rows = false,
    .nearest_image = true,
    .key = same,
    .z_of_key = same,
    .z_cap = std::numeric_limits<double>::infinity(),
    .report = root,
    .pad = std::numeric_limits<double>::infinity(),
    .direct = BoundForm::direct_root,
    .direct_element = Element::squared_difference,
    .has_direct = false,  // its screens fold differences (prepare/fold.hpp)
    .dot = BoundForm::dot_squared,
    .has_dot = false};

}  // namespace tessera::metrics
