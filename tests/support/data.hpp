// SPDX-License-Identifier: Apache-2.0
// Here: rows of doubles stored as any element type and any layout, and kinds of data that hurt. Not here: answers (contract/oracle).
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "tessera/rows.hpp"

namespace tessera::testing {

/// Plain rows of doubles.
struct Matrix {
  Index rows = 0;
  Index cols = 0;
  std::vector<double> values;  // [rows, cols]

  double* row(Index i) { return values.data() + i * cols; }
  const double* row(Index i) const { return values.data() + i * cols; }
  RowSet view() const { return dense(values.data(), rows, cols); }
};

Matrix zeros(Index rows, Index cols);

/// How stored rows lie in memory.
enum class Layout : std::uint8_t { plain, byte_swapped, strided, negative_stride, unaligned };
inline constexpr int kLayoutCount = 5;

/// Rows stored as some element type; owns what rows() views.
class Stored {
 public:
  /// Values are rounded to the type (to nearest; integers saturate). NaN becomes 0 in integers.
  Stored(const Matrix& matrix, DType dtype, Layout layout = Layout::plain);
  const RowSet& rows() const { return rows_; }

 private:
  std::vector<std::byte> bytes_;
  RowSet rows_;
};

/// binary16 of a double, to nearest even; what lies past the largest becomes infinity.
std::uint16_t half_bits(double value);
/// bfloat16 of a double, to nearest even by way of float.
std::uint16_t brain_bits(double value);

/// Kinds of data: each breaks something that the others leave alone.
enum class Kind : std::uint8_t {
  normal,          // N(0, 1)
  small_integers,  // 0..3: ties everywhere
  duplicates,      // few distinct rows
  all_equal,
  huge_offset,     // 1e6 + N(0, 1): norms dwarf distances
  two_clusters,    // 1e4 apart
  one_huge_row,    // one row at 1e15, the others N(0, 1)
  one_scaled,      // one dimension times 1e4
  denormal,        // of float32
  tiny,            // 1e-20
  large,           // 1e20
  mixed_scales,    // 1e-15 .. 1e15, row by row
  zero_rows        // N(0, 1), every third row zero
};
inline constexpr int kKindCount = 13;
std::string_view name_of(Kind kind);
std::string_view name_of(Layout layout);

Matrix make(Kind kind, Index rows, Index cols, std::mt19937_64& random);

/// Numbers [0, kHurtfulCount): the kinds above, then offsets and scales that only float64 holds.
inline constexpr int kHurtfulCount = kKindCount + 7;
Matrix hurtful(int number, Index rows, Index cols, std::mt19937_64& random);

}  // namespace tessera::testing
