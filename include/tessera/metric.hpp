// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/cell.hpp"

namespace tessera {

/// The distances Tessera knows. Canonical values are defined in docs/numerics.md.
enum class Metric : std::uint8_t {
#define TESSERA_METRIC(id, aliases) id,
#include "tessera/export.hpp"
#include "tessera/metrics.def"
#undef TESSERA_METRIC
};

/// A metric with its parameters; a plain value.
struct MetricSpec {
  Metric metric = Metric::l2;
  std::optional<Cell> cell{};  ///< periodic, and only there: the cell that repeats
  double p = 1;  ///< wasserstein: the order, any p >= 1 or infinity
};

TESSERA_API std::string_view name_of(Metric metric) noexcept;
/// Accepts the names and aliases of docs/cli.md ("euclidean", "ip", "chebyshev", ...).
TESSERA_API std::optional<Metric> parse_metric(std::string_view name) noexcept;
/// "l2 sqeuclidean inner_product ...", for messages.
TESSERA_API std::string metric_names();

}  // namespace tessera
