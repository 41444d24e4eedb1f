// SPDX-License-Identifier: Apache-2.0
// Here: the list of formats rows are written in. A new one is a row in row_format.cpp.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tessera/io.hpp"

namespace tessera::io {

/// One format of rows: a header, then the rows, each behind a prefix of its own where the format wants one.
struct RowFormat {
  std::string_view name;
  std::string_view suffix;  // lower case, with the dot
  std::string_view other_suffix = {};
  std::optional<DType> only{};  // the one element type it holds; empty: any
  Index most_rows = std::numeric_limits<Index>::max();
  Index most_cols = std::numeric_limits<Index>::max();
  Index least_rows = 0;  // 1: without rows the file would be empty, and say nothing
  std::string (*header)(DType dtype, Index rows, Index cols) = nullptr;
  std::string (*row_prefix)(Index cols) = nullptr;
  bool text = false;  // numbers in decimal, commas between them
};

std::span<const RowFormat> row_formats() noexcept;

/// The type that is written: the one asked for, else the one the format holds, else the rows' own.
/// throws   Error{invalid_argument} when the format or normalization has no place for it.
DType choose_row_dtype(const RowFormat& format, const std::string& path, std::optional<DType> rows,
                       const RowWriteOptions& options);

}  // namespace tessera::io
