// SPDX-License-Identifier: Apache-2.0
#include "tessera/rows.hpp"

#include <algorithm>
#include <array>

#include "support/fail.hpp"

namespace tessera {
namespace {

struct DTypeRow {
  DType dtype;
  std::size_t size;
  std::string_view name;   // numpy's
  std::string_view brief;  // ours
  bool integer;
};

constexpr std::array<DTypeRow, kDTypeCount> kDTypes = {{
    {DType::f64, 8, "float64", "f64", false},
    {DType::f32, 4, "float32", "f32", false},
    {DType::f16, 2, "float16", "f16", false},
    {DType::bf16, 2, "bfloat16", "bf16", false},
    {DType::i8, 1, "int8", "i8", true},
    {DType::u8, 1, "uint8", "u8", true},
    {DType::i16, 2, "int16", "i16", true},
    {DType::u16, 2, "uint16", "u16", true},
    {DType::i32, 4, "int32", "i32", true},
    {DType::u32, 4, "uint32", "u32", true},
    {DType::i64, 8, "int64", "i64", true},
    {DType::u64, 8, "uint64", "u64", true},
}};

const DTypeRow& row_of(DType dtype) noexcept { return kDTypes[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t size_of(DType dtype) noexcept { return row_of(dtype).size; }
std::string_view name_of(DType dtype) noexcept { return row_of(dtype).name; }
bool is_integer(DType dtype) noexcept { return row_of(dtype).integer; }

std::optional<DType> parse_dtype(std::string_view name) noexcept {
  for (const DTypeRow& row : kDTypes) {
    if (name == row.name || name == row.brief) return row.dtype;
  }
  return std::nullopt;
}

RowSet dense(const void* data, DType dtype, Index rows, Index cols) noexcept {
  const auto item = static_cast<Index>(size_of(dtype));
  return {.data = data, .dtype = dtype, .rows = rows, .cols = cols, .row_stride = cols * item, .col_stride = item};
}

RowSet ragged(const void* values, DType dtype, const Index* offsets, Index rows) noexcept {
  RowSet set{.data = values, .dtype = dtype, .rows = rows, .col_stride = static_cast<Index>(size_of(dtype)), .offsets = offsets};
  for (Index i = 0; i < rows; ++i) set.cols = std::max(set.cols, set.length(i));
  return set;
}

RowSet weighted(const RowSet& rows, const void* weights, DType dtype) noexcept {
  const auto item = static_cast<Index>(size_of(dtype));
  RowSet set = rows;
  set.weights = {.data = weights, .dtype = dtype, .row_stride = rows.cols * item, .col_stride = item};
  return set;
}

RowSet histograms(const double* support, const RowSet& counts) noexcept {
  RowSet set = counts;
  set.data = support;
  set.dtype = DType::f64;
  set.row_stride = 0;
  set.col_stride = sizeof(double);
  set.byte_swapped = false;
  set.weights = {.data = counts.data, .dtype = counts.dtype, .row_stride = counts.row_stride, .col_stride = counts.col_stride, .byte_swapped = counts.byte_swapped};
  return set;
}

RowSet slice(const RowSet& rows, Index first, Index last) {
  if (first < 0 || last < first || last > rows.rows) {
    support::fail(ErrorCode::invalid_argument, "rows {}:{} asked of a set of {} rows: wanted 0 <= first <= last <= {}",
                  first, last, rows.rows, rows.rows);
  }
  RowSet part = rows;
  part.rows = last - first;
  part.first_id = rows.first_id + first;
  if (part.rows != rows.rows) part.grid_rows = part.grid_cols = 0;  // a part of a grid is no grid
  if (rows.offsets != nullptr) {
    part.offsets = rows.offsets + first;
    return part;
  }
  part.data = rows.row(first);
  if (rows.weights.data != nullptr) part.weights.data = static_cast<const std::byte*>(rows.weights.data) + first * rows.weights.row_stride;
  return part;
}

}  // namespace tessera
