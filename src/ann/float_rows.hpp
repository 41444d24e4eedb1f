// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "tessera/rows.hpp"

namespace tessera::ann {

/// Converts rows to what FAISS takes: float32, [count, cols], normalised in double for cosine. Zero rows stay zero.
class FloatRows {
 public:
  /// what  "base" or "queries", for messages.
  FloatRows(const RowSet& rows, bool normalize, std::string_view what) : rows_(rows), normalize_(normalize), what_(what) {}

  /// Row numbers `picked` in order, into a buffer that the next call reuses.
  /// throws  Error{malformed_input}: a value that is not finite, or not in float32.
  const float* read(const std::vector<Index>& picked);
  const float* read(Index first, Index last);

  Index zero_rows() const noexcept { return zero_rows_; }

 private:
  void read_row(Index row, float* out);

  RowSet rows_;
  bool normalize_;
  std::string_view what_;
  std::vector<float> buffer_;
  std::vector<double> row_;
  Index zero_rows_ = 0;
};

}  // namespace tessera::ann
