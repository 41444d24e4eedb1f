// SPDX-License-Identifier: Apache-2.0
// Here: reading the elements of a RowSet, whatever their type and byte order, as doubles. For looking at data, one row
// at a time; the engine has its own way in.
#pragma once

#include "tessera/rows.hpp"

namespace tessera::cli {

/// Converts row i.
///
/// out  [cols]; exact, but for 64-bit integers past 2^53, which round.
void decode_row(const RowSet& rows, Index i, double* out) noexcept;

}  // namespace tessera::cli
