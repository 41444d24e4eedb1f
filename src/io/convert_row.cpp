// SPDX-License-Identifier: Apache-2.0
#include "io/convert_row.hpp"

#include <algorithm>
#include <cmath>

#include "io/element.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

// The order in which a type that holds a value is looked for: the smallest of its kind first.
constexpr DType kIntegers[] = {DType::u8,  DType::i8,  DType::u16, DType::i16,
                               DType::u32, DType::i32, DType::u64, DType::i64};
constexpr DType kFloats[] = {DType::f32, DType::f64};

template <class Wide>
bool holds(DType dtype, Wide value) {
  return with_type(dtype, [&](auto target) { return narrow_to(value, target) == Fit::exact; });
}

/// A type that holds the value exactly; one of the wanted kind if there is one.
template <class Wide>
DType holder_of(Wide value, bool integer_wanted) {
  std::vector<DType> order(std::begin(kFloats), std::end(kFloats));
  order.insert(integer_wanted ? order.begin() : order.end(), std::begin(kIntegers), std::end(kIntegers));
  for (const DType dtype : order) {
    if (holds(dtype, value)) return dtype;
  }
  return DType::f64;
}

bool is_float(DType dtype) noexcept { return !is_integer(dtype); }

}  // namespace

RowConverter::RowConverter(const RowSet& rows, const Conversion& conversion, std::string path)
    : rows_(rows), conversion_(conversion), path_(std::move(path)) {
  const auto cols = static_cast<std::size_t>(rows.cols);
  if (rows.dtype == DType::i64 && !conversion.normalize) {
    signed_.resize(cols);
  } else if (rows.dtype == DType::u64 && !conversion.normalize) {
    unsigned_.resize(cols);
  } else {
    doubles_.resize(cols);
  }
}

std::size_t RowConverter::row_bytes() const noexcept {
  return static_cast<std::size_t>(rows_.cols) * size_of(conversion_.dtype);
}

void RowConverter::convert(Index row, std::span<std::byte> out) {
  if (conversion_.normalize) return normalize(row, out.data());
  if (rows_.dtype == conversion_.dtype) return copy(row, out.data());
  if (!signed_.empty()) {
    widen_row<std::int64_t>(rows_, row, std::span(signed_));
    return narrow(row, signed_, out.data());
  }
  if (!unsigned_.empty()) {
    widen_row<std::uint64_t>(rows_, row, std::span(unsigned_));
    return narrow(row, unsigned_, out.data());
  }
  decode_row(rows_, row, doubles_);
  narrow(row, doubles_, out.data());
}

/// The same type: the bits themselves, NaN payloads included.
void RowConverter::copy(Index row, std::byte* out) const noexcept {
  const std::size_t item = size_of(rows_.dtype);
  const bool little = (std::endian::native == std::endian::little) != rows_.byte_swapped;
  const std::byte* p = rows_.row(row);
  if (little && rows_.col_stride == static_cast<Index>(item)) {
    std::memcpy(out, p, row_bytes());
    return;
  }
  for (Index c = 0; c < rows_.cols; ++c, p += rows_.col_stride, out += item) {
    for (std::size_t i = 0; i < item; ++i) out[i] = p[little ? i : item - 1 - i];
  }
}

void RowConverter::normalize(Index row, std::byte* out) {
  decode_row(rows_, row, doubles_);
  double largest = 0;
  for (std::size_t c = 0; c < doubles_.size(); ++c) {
    if (!std::isfinite(doubles_[c])) {
      fail(ErrorCode::malformed_input, "'{}': row {}, column {} is {}: such a row has no norm; leave it out", path_,
           rows_.first_id + row, c, doubles_[c]);
    }
    largest = std::max(largest, std::abs(doubles_[c]));
  }
  if (largest == 0) ++zero_rows_;
  // A power of two scales exactly, and keeps the squares from overflowing and from vanishing.
  const int exponent = largest > 0 ? std::ilogb(largest) : 0;
  double squares = 0;
  for (double& value : doubles_) {
    value = std::scalbn(value, -exponent);
    squares += value * value;
  }
  const double norm = largest > 0 ? std::sqrt(squares) : 1;
  for (double& value : doubles_) value /= norm;
  const std::int64_t rounded = rounded_;
  narrow(row, doubles_, out);
  rounded_ = rounded;  // a quotient is rounded anyway: nothing to report
}

template <class Wide>
void RowConverter::narrow(Index row, const std::vector<Wide>& values, std::byte* out) {
  with_type(conversion_.dtype, [&](auto target) {
    for (std::size_t c = 0; c < values.size(); ++c, out += sizeof target) {
      const Fit fit = narrow_to(values[c], target);
      store_element(target, out);
      if (fit == Fit::exact) continue;
      if (fit == Fit::rounded && (conversion_.lossy || conversion_.normalize)) {
        ++rounded_;
        continue;
      }
      fail(ErrorCode::malformed_input, "'{}': row {}, column {}: {} does not survive as {}; {} holds it{}", path_,
           rows_.first_id + row, c, values[c], name_of(conversion_.dtype),
           name_of(holder_of(values[c], !is_float(conversion_.dtype))),
           fit == Fit::rounded ? ", or let it be rounded" : "");
    }
  });
}

}  // namespace tessera::io
