// SPDX-License-Identifier: Apache-2.0
// l2 and sqeuclidean: canonical sum lanes16((x-y)^2); l2 reports the root, both order by the square.
#include <cmath>
#include <limits>

#include "metrics/shared.hpp"

namespace tessera::metrics {
namespace {

constexpr MetricTraits squared(Metric metric, bool rooted) {
  return {.metric = metric,
          .canonical = Element::squared_difference,
          .unit_rows = false,
          .key = same,
          .z_of_key = same,
          .z_cap = std::numeric_limits<double>::infinity(),
          .report = rooted ? root : same,
          .pad = std::numeric_limits<double>::infinity(),
          .direct = BoundForm::direct_root,
          .direct_element = Element::squared_difference,
          .has_direct = true,
          .dot = BoundForm::dot_squared,
          .has_dot = true,
          .value = {.root = rooted}};
}

}  // namespace

constinit const MetricTraits list::l2 = squared(Metric::l2, true);
constinit const MetricTraits list::sqeuclidean = squared(Metric::sqeuclidean, false);

}  // namespace tessera::metrics
