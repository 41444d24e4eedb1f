// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "metrics/traits.hpp"
#include "prepare/row_reader.hpp"

namespace tessera::prepare {

/// Whether 8-bit integers tell base rows apart well enough to be worth screening with; a guess that changes speed only.
///
/// queries  that will be asked, or null: rows of the base stand for them.
/// k        neighbours that will be asked for.
/// cost     some thousands of canonical sums over a sample of rows.
bool int8_pays(const RowReader& base, const RowReader* queries, Index k, const metrics::MetricTraits& traits);

}  // namespace tessera::prepare
