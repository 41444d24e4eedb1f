// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "metrics/traits.hpp"

namespace tessera::metrics {

inline double same(double value) { return value; }
inline double root(double value) { return std::sqrt(value); }

/// One MetricTraits a line of metrics.def, under the metric's own name; each file of this room defines its own.
namespace list {
#define TESSERA_METRIC(id, aliases) extern const MetricTraits id;
#include "tessera/metrics.def"
#undef TESSERA_METRIC
}  // namespace list

}  // namespace tessera::metrics
