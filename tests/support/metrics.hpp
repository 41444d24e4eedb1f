// SPDX-License-Identifier: Apache-2.0
// Here: which metrics take vectors of any length and nothing else, for suites that run over all of those.
#pragma once

#include <vector>

#include "metrics/traits.hpp"
#include "tessera/metric.hpp"

namespace tessera::testing {

/// Every metric but those that need more than rows (a cell), which have suites of their own.
inline std::vector<Metric> vector_metrics() {
  std::vector<Metric> all = {
#define TESSERA_METRIC(id, aliases) Metric::id,
#include "tessera/metrics.def"
#undef TESSERA_METRIC
  };
  std::erase_if(all, [](Metric metric) { return metrics::traits_of(metric).nearest_image; });
  return all;
}

}  // namespace tessera::testing
