// SPDX-License-Identifier: Apache-2.0
// Here: a header's promise held against the bytes that are there. Not here: how headers are read.
#pragma once

#include <bit>
#include <cstdint>

#include "io/input.hpp"

namespace tessera::io {

/// What a header promises. Nothing in it is trusted: counts may be anything 64 bits hold.
struct Layout {
  DType dtype = DType::f32;
  std::endian order = std::endian::little;
  std::uint64_t offset = 0;      // bytes before the first row
  std::uint64_t rows = 0;        // n; 0 is fine
  std::uint64_t cols = 0;        // d; 0 is refused
  std::uint64_t row_prefix = 0;  // bytes before each row's elements (fvecs: 4)
  bool by_columns = false;       // Fortran order: [d, n] in memory
};

/// Views the rows asked for, after checking that the content has exactly the promised size.
/// A truncated file is accepted only for a range [first_row, last_row) that lies within its whole rows.
/// throws   Error{malformed_input}: truncated, too long, d = 0; Error{invalid_argument}: the range leaves the file.
Decoded view_rows(const Input& input, const Layout& layout);

struct RowRange {
  Index first = 0;
  Index last = 0;
};

/// The range asked for out of `rows` rows.
/// throws   Error{invalid_argument}: it leaves the file.
RowRange range_of(const Input& input, Index rows);

/// The rows asked for out of all rows of a file, with first_id set.
RowSet take_range(const Input& input, const RowSet& all);

}  // namespace tessera::io
