// SPDX-License-Identifier: Apache-2.0
#include "decode.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tessera::cli {
namespace {

struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};

double to_double(Half half) noexcept {
  const std::uint64_t sign = static_cast<std::uint64_t>(half.bits >> 15) << 63;
  const std::uint64_t exponent = half.bits >> 10 & 0x1f;
  const std::uint64_t mantissa = half.bits & 0x3ff;
  if (exponent == 0) {  // zero or subnormal
    const double magnitude = static_cast<double>(mantissa) * 0x1p-24;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint64_t rebiased = exponent == 0x1f ? 0x7ff : exponent + (1023 - 15);
  return std::bit_cast<double>(sign | rebiased << 52 | mantissa << 42);
}

double to_double(Brain brain) noexcept {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(brain.bits) << 16));
}

template <class T>
double to_double(T value) noexcept {
  return static_cast<double>(value);
}

template <class T>
void decode(const RowSet& rows, Index i, double* out) noexcept {
  const std::byte* element = rows.row(i);
  for (Index c = 0; c < rows.cols; ++c, element += rows.col_stride) {
    std::byte bytes[sizeof(T)];
    std::memcpy(bytes, element, sizeof(T));
    if (rows.byte_swapped) std::reverse(bytes, bytes + sizeof(T));
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    out[c] = to_double(value);
  }
}

}  // namespace

void decode_row(const RowSet& rows, Index i, double* out) noexcept {
  switch (rows.dtype) {
    case DType::f64: return decode<double>(rows, i, out);
    case DType::f32: return decode<float>(rows, i, out);
    case DType::f16: return decode<Half>(rows, i, out);
    case DType::bf16: return decode<Brain>(rows, i, out);
    case DType::i8: return decode<std::int8_t>(rows, i, out);
    case DType::u8: return decode<std::uint8_t>(rows, i, out);
    case DType::i16: return decode<std::int16_t>(rows, i, out);
    case DType::u16: return decode<std::uint16_t>(rows, i, out);
    case DType::i32: return decode<std::int32_t>(rows, i, out);
    case DType::u32: return decode<std::uint32_t>(rows, i, out);
    case DType::i64: return decode<std::int64_t>(rows, i, out);
    case DType::u64: return decode<std::uint64_t>(rows, i, out);
  }
}

}  // namespace tessera::cli
