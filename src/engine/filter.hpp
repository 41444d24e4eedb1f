// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/options.hpp"
#include "tessera/rows.hpp"

namespace tessera::engine {

/// Numbers, within the base and ascending, of the rows that a filter leaves out. Ids of the filter lie within the base.
std::vector<Index> denied_rows(const RowFilter& filter, const RowSet& base);

}  // namespace tessera::engine
