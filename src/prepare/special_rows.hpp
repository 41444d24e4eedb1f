// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/executor.hpp"
#include "core/problem.hpp"
#include "core/tile.hpp"
#include "prepare/row_reader.hpp"

namespace tessera::prepare {

/// Looks at every row once and sorts out those that no screen should see.
///
/// returns  row numbers: not finite (only under NanPolicy::skip), and all zero (only where rows are normalised).
/// cost     one pass over the rows; none at all for integer types of up to 32 bits when rows are not normalised.
/// throws   Error{malformed_input}: the first non-finite row and their count, a float64 beyond 2^500, an integer beyond 2^53.
core::SpecialRows find_special_rows(const RowReader& reader, NanPolicy nan, std::string_view what, core::Executor& executor);

/// Those within a range of rows, numbered from its first.
core::SpecialRows special_within(const core::SpecialRows& all, core::Range rows);

}  // namespace tessera::prepare
