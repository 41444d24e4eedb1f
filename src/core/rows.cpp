// SPDX-License-Identifier: Apache-2.0
#include "tessera/rows.hpp"

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

RowSet slice(const RowSet& rows, Index first, Index last) {
  if (first < 0 || last < first || last > rows.rows) {
    support::fail(ErrorCode::invalid_argument, "rows {}:{} asked of a set of {} rows: wanted 0 <= first <= last <= {}",
                  first, last, rows.rows, rows.rows);
  }
  RowSet part = rows;
  part.data = rows.row(first);
  part.rows = last - first;
  part.first_id = rows.first_id + first;
  return part;
}

}  // namespace tessera
