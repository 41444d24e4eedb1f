// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/executor.hpp"
#include "core/problem.hpp"
#include "core/tile.hpp"
#include "metrics/lattice.hpp"
#include "prepare/bad_rows.hpp"
#include "prepare/row_reader.hpp"

namespace tessera::prepare {

inline constexpr double kLargestElement = 0x1p500;  // squares and their sums stay finite

/// Looks at every row once and sorts out those that no screen should see.
///
/// returns  row numbers: not finite (only under NanPolicy::skip), and all zero (only where rows are normalised).
/// cost     one pass over the rows; none at all for integer types of up to 32 bits when rows are not normalised.
/// throws   Error{malformed_input}: the first non-finite row and their count, a value beyond `largest` in float64 or where a lattice sets it, an
///          integer beyond 2^53.
core::SpecialRows find_special_rows(const RowReader& reader, const BadRows& nan, std::string_view what, core::Executor& executor,
                                    double largest = kLargestElement);

/// The largest absolute value that rows may hold: 2^500, or less where images of a lattice would drown in rounding.
double largest_value(const metrics::Lattice* lattice) noexcept;

/// Those within a range of rows, numbered from its first.
core::SpecialRows special_within(const core::SpecialRows& all, core::Range rows);

/// The numbers of the rows that are not special, of `rows` in all; empty when none is special.
std::vector<Index> rows_left(Index rows, const core::SpecialRows& special);

/// Leaves out what a filter denies, whatever else these rows are. denied: ascending.
void deny(core::SpecialRows& special, const std::vector<Index>& denied);

}  // namespace tessera::prepare
