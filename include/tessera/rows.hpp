// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tessera/export.hpp"

namespace tessera {

/// Counts and numbers rows and columns; 64-bit everywhere.
using Index = std::int64_t;

/// Element types a RowSet may hold. All convert exactly to double (integers up to 2^53, checked).
enum class DType : std::uint8_t { f64, f32, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64 };
inline constexpr int kDTypeCount = 12;

TESSERA_API std::size_t size_of(DType dtype) noexcept;                            ///< bytes of one element
TESSERA_API std::string_view name_of(DType dtype) noexcept;                       ///< "float32", "uint8", ... (numpy's names)
TESSERA_API std::optional<DType> parse_dtype(std::string_view name) noexcept;     ///< accepts numpy's names and f32, u8, ...
TESSERA_API bool is_integer(DType dtype) noexcept;

/// Weights beside the elements of a RowSet, one an element and laid out as those are; the metric wasserstein only.
struct Weights {
  const void* data = nullptr;  // null: all elements weigh the same
  DType dtype = DType::f64;
  Index row_stride = 0;        // bytes; not looked at when the rows are ragged
  Index col_stride = 0;        // bytes
  bool byte_swapped = false;
};

/// A set of n row vectors of d elements, somewhere in the caller's memory. Never owns.
///
/// For the metric wasserstein a row is a distribution: its samples in any order, or, with weights, its atoms. Such rows may differ in
/// length (offsets), share their support (row_stride 0, counts as weights: histograms), and form a grid.
///
/// data        first element; need not be aligned.
/// strides     in bytes, may be negative or zero; (row_stride, col_stride) = (d*itemsize, itemsize) when contiguous.
/// first_id    id of row 0. Row i has id first_id + i: a slice of a file keeps the file's row numbers.
struct RowSet {
  const void* data = nullptr;
  DType dtype = DType::f32;
  Index rows = 0;          // n
  Index cols = 0;          // d
  Index row_stride = 0;    // bytes
  Index col_stride = 0;    // bytes
  bool byte_swapped = false;  // elements are stored in the other byte order
  Index first_id = 0;
  const Index* offsets = nullptr;  // [n + 1], ascending: ragged row i is elements [offsets[i], offsets[i+1]); d is the longest row's
  Weights weights{};
  Index grid_rows = 0;             // > 0: the rows are the cells of a grid [grid_rows, grid_cols], row by row
  Index grid_cols = 0;

  /// The weights beside row i.
  const std::byte* weights_of(Index i) const noexcept {
    return static_cast<const std::byte*>(weights.data) + (offsets != nullptr ? offsets[i] * weights.col_stride : i * weights.row_stride);
  }
  Index length(Index i) const noexcept { return offsets != nullptr ? offsets[i + 1] - offsets[i] : cols; }
  const std::byte* row(Index i) const noexcept {
    return static_cast<const std::byte*>(data) + (offsets != nullptr ? offsets[i] * col_stride : i * row_stride);
  }
};

/// Views contiguous rows (C order): data [rows, cols].
TESSERA_API RowSet dense(const void* data, DType dtype, Index rows, Index cols) noexcept;

inline RowSet dense(const double* p, Index rows, Index cols) noexcept { return dense(p, DType::f64, rows, cols); }
inline RowSet dense(const float* p, Index rows, Index cols) noexcept { return dense(p, DType::f32, rows, cols); }
inline RowSet dense(const std::int8_t* p, Index rows, Index cols) noexcept { return dense(p, DType::i8, rows, cols); }
inline RowSet dense(const std::uint8_t* p, Index rows, Index cols) noexcept { return dense(p, DType::u8, rows, cols); }

/// Views ragged rows: row i is values[offsets[i]] .. values[offsets[i + 1] - 1].
///
/// values   [offsets[rows]], contiguous.
/// offsets  [rows + 1], ascending from >= 0; must outlive the view.
TESSERA_API RowSet ragged(const void* values, DType dtype, const Index* offsets, Index rows) noexcept;

/// The same rows with contiguous weights: [offsets[rows]] beside ragged rows, else [rows, cols].
TESSERA_API RowSet weighted(const RowSet& rows, const void* weights, DType dtype) noexcept;

/// Histograms: row i holds counts[i, t] samples at support[t].
///
/// support  [cols]; counts [rows, cols], any type and strides; both must outlive the view.
TESSERA_API RowSet histograms(const double* support, const RowSet& counts) noexcept;

/// Rows [first, last) of `rows`, ids kept. Throws Error{invalid_argument} when the range leaves the set.
TESSERA_API RowSet slice(const RowSet& rows, Index first, Index last);

}  // namespace tessera
