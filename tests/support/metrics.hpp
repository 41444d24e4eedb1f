// SPDX-License-Identifier: Apache-2.0
// Here: which metrics take vectors of any length and nothing else, for suites that run over all of those.
#pragma once

#include <vector>

#include "metrics/traits.hpp"
#include "tessera/metric.hpp"

namespace tessera::testing {

/// Every metric but those that need more than rows (a cell) or other rows (distributions), which have suites of their own.
inline std::vector<Metric> vector_metrics() {
  std::vector<Metric> all = {
#define TESSERA_METRIC(id, aliases) Metric::id,
#include "tessera/metrics.def"
#undef TESSERA_METRIC
  };
  std::erase_if(all, [](Metric metric) {
    const metrics::MetricTraits& traits = metrics::traits_of(metric);
    return traits.nearest_image || traits.distributions;
  });
  return all;
}

}  // namespace tessera::testing
