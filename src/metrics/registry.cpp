// SPDX-License-Identifier: Apache-2.0
#include "metrics/shared.hpp"

namespace tessera::metrics {

const MetricTraits& traits_of(Metric metric) noexcept {
  static const MetricTraits* const kTable[] = {
#define TESSERA_METRIC(id, aliases) &list::id,
#include "tessera/metrics.def"
#undef TESSERA_METRIC
  };
  return *kTable[static_cast<int>(metric)];
}

}  // namespace tessera::metrics
