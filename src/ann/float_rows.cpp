// SPDX-License-Identifier: Apache-2.0
#include "ann/float_rows.hpp"

#include <algorithm>
#include <cmath>

#include "io/element.hpp"
#include "support/fail.hpp"

namespace tessera::ann {
namespace {

/// Scales by a power of two first, so that squares neither overflow nor vanish.
bool normalize(std::vector<double>& row) {
  double largest = 0;
  for (const double value : row) largest = std::max(largest, std::abs(value));
  if (largest == 0 || !std::isfinite(largest)) return largest != 0;
  const int exponent = std::ilogb(largest);
  double squares = 0;
  for (double& value : row) {
    value = std::ldexp(value, -exponent);
    squares += value * value;
  }
  const double norm = std::sqrt(squares);
  for (double& value : row) value /= norm;
  return true;
}

}  // namespace

void FloatRows::read_row(Index row, float* out) {
  row_.resize(static_cast<std::size_t>(rows_.cols));
  io::decode_row(rows_, row, row_);
  if (normalize_ && !normalize(row_)) ++zero_rows_;
  for (const double value : row_) {
    *out = static_cast<float>(value);
    if (!std::isfinite(*out++)) {
      support::fail(ErrorCode::malformed_input, "{} row {} holds {}, which is not finite in float32; FAISS would return anything for it", what_,
                    rows_.first_id + row, value);
    }
  }
}

const float* FloatRows::read(const std::vector<Index>& picked) {
  buffer_.resize(picked.size() * static_cast<std::size_t>(rows_.cols));
  float* out = buffer_.data();
  for (const Index row : picked) {
    read_row(row, out);
    out += rows_.cols;
  }
  return buffer_.data();
}

const float* FloatRows::read(Index first, Index last) {
  buffer_.resize(static_cast<std::size_t>((last - first) * rows_.cols));
  float* out = buffer_.data();
  for (Index row = first; row < last; ++row, out += rows_.cols) read_row(row, out);
  return buffer_.data();
}

}  // namespace tessera::ann
