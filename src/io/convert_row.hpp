// SPDX-License-Identifier: Apache-2.0
// Here: a row of one type into little-endian bytes of another. Not here: which type, and files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/rows.hpp"

namespace tessera::io {

struct Conversion {
  DType dtype = DType::f32;  // to
  bool normalize = false;    // divide by the L2 norm first, in double; rounding is then part of it
  bool lossy = false;        // a float may be rounded to a narrower one
};

/// Converts rows one after the other, counting what it changed.
class RowConverter {
 public:
  /// `path` and the rows' ids are what messages say.
  RowConverter(const RowSet& rows, const Conversion& conversion, std::string path);

  /// out  [cols · size_of(dtype)] bytes.
  /// throws   Error{malformed_input} at the first value that does not survive.
  void convert(Index row, std::span<std::byte> out);

  std::size_t row_bytes() const noexcept;
  std::int64_t rounded() const noexcept { return rounded_; }
  Index zero_rows() const noexcept { return zero_rows_; }

 private:
  void copy(Index row, std::byte* out) const noexcept;
  void normalize(Index row, std::byte* out);
  template <class Wide>
  void narrow(Index row, const std::vector<Wide>& values, std::byte* out);

  RowSet rows_;
  Conversion conversion_;
  std::string path_;
  std::vector<double> doubles_;  // [cols]
  std::vector<std::int64_t> signed_;
  std::vector<std::uint64_t> unsigned_;
  std::int64_t rounded_ = 0;
  Index zero_rows_ = 0;
};

}  // namespace tessera::io
