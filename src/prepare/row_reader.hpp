// SPDX-License-Identifier: Apache-2.0
// Here: the one door through which elements of any type enter, as zero-padded rows of doubles.
// Not here: narrowing and packing (panels.hpp), finding bad rows (special_rows.hpp).
#pragma once

#include "kernels/cpu/contract.hpp"
#include "tessera/rows.hpp"

namespace tessera::prepare {

/// d rounded up to the sixteen lanes of the canonical sum.
inline Index padded_cols(Index d) noexcept { return (d + 15) / 16 * 16; }

/// Reads rows of a RowSet as doubles, divided by their norm where the metric asks for it.
class RowReader {
 public:
  RowReader(const kernels::CpuKernels& kernels, const RowSet& rows, bool unit_rows) noexcept
      : kernels_(&kernels), rows_(rows), convert_(kernels.convert[static_cast<int>(rows.dtype)]), unit_rows_(unit_rows),
        padded_(padded_cols(rows.cols)) {}

  /// out [padded()], the row's elements then zeros; normalised if asked (zero rows stay zero).
  void read(Index row, double* out) const noexcept {
    read_raw(row, out);
    if (unit_rows_) kernels_->normalise(out, padded_, kernels_->scan(out, padded_).max_abs);
  }
  /// As read(), never normalised.
  void read_raw(Index row, double* out) const noexcept {
    convert_(rows_.row(row), rows_.col_stride, rows_.byte_swapped, rows_.cols, out);
  }

  const kernels::CpuKernels& kernels() const noexcept { return *kernels_; }
  const RowSet& rows() const noexcept { return rows_; }
  bool unit_rows() const noexcept { return unit_rows_; }
  Index padded() const noexcept { return padded_; }

 private:
  const kernels::CpuKernels* kernels_;
  RowSet rows_;
  kernels::ConvertKernel convert_;
  bool unit_rows_;
  Index padded_;
};

}  // namespace tessera::prepare
