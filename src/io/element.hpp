// SPDX-License-Identifier: Apache-2.0
// Here: one element of any type, out of bytes and into bytes, exactly or not at all. Not here: rows and files.
//
// Elements travel as Wide: double, which holds every type up to 53 bits, or int64 and uint64 for themselves.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "support/float16.hpp"
#include "tessera/rows.hpp"

namespace tessera::io {

struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

/// Calls f with a value of the C++ type behind `dtype`.
template <class Function>
decltype(auto) with_type(DType dtype, Function&& f) {
  switch (dtype) {
    case DType::f64: return f(double{});
    case DType::f32: return f(float{});
    case DType::f16: return f(Half{});
    case DType::bf16: return f(Bfloat16{});
    case DType::i8: return f(std::int8_t{});
    case DType::u8: return f(std::uint8_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::i64: return f(std::int64_t{});
    case DType::u64: break;
  }
  return f(std::uint64_t{});
}

template <class T>
using WideOf = std::conditional_t<std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>, T, double>;

template <class T>
WideOf<T> widen(T value) noexcept {
  return static_cast<WideOf<T>>(value);
}
inline double widen(Half value) noexcept { return support::double_of_half(value.bits); }
inline double widen(Bfloat16 value) noexcept { return support::double_of_bfloat16(value.bits); }

/// The element at p, whose bytes may be in the other order.
template <class T>
T load_element(const std::byte* p, bool swapped) noexcept {
  std::byte bytes[sizeof(T)];
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = p[swapped ? sizeof(T) - 1 - i : i];
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// Widens a row of elements T into doubles or, where they are 64-bit integers, those: out [cols].
template <class T, class Wide>
void widen_row(const RowSet& rows, Index row, std::span<Wide> out) noexcept {
  const std::byte* p = rows.row(row);
  for (Wide& value : out) {
    value = static_cast<Wide>(widen(load_element<T>(p, rows.byte_swapped)));
    p += rows.col_stride;
  }
}
/// A row of any type as doubles, out [cols]; 64-bit integers past 2^53 round.
inline void decode_row(const RowSet& rows, Index row, std::span<double> out) noexcept {
  with_type(rows.dtype, [&](auto element) { widen_row<decltype(element)>(rows, row, out); });
}

/// Stores little-endian.
template <class T>
void store_element(T value, std::byte* p) noexcept {
  std::memcpy(p, &value, sizeof(T));
  if constexpr (std::endian::native == std::endian::big) {
    for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(p[i], p[sizeof(T) - 1 - i]);
  }
}

enum class Fit : std::uint8_t {
  exact,    ///< the same number; -0 and 0 are the same to an integer, and NaN is NaN
  rounded,  ///< the nearest float
  none      ///< no integer, or past the type's range
};

/// True when the double is exactly this number.
inline bool is_same(double a, double b) noexcept { return a == b || (std::isnan(a) && std::isnan(b)); }
inline bool is_same(double a, std::int64_t b) noexcept {
  return a >= -0x1p63 && a < 0x1p63 && static_cast<std::int64_t>(a) == b && static_cast<double>(b) == a;
}
inline bool is_same(double a, std::uint64_t b) noexcept {
  return a >= 0 && a < 0x1p64 && static_cast<std::uint64_t>(a) == b && static_cast<double>(b) == a;
}

/// Judges a float by what it widens to.
template <class Wide>
Fit float_fit(double stored, Wide value) noexcept {
  if (is_same(stored, value)) return Fit::exact;
  return std::isfinite(stored) ? Fit::rounded : Fit::none;
}

template <std::integral T>
Fit narrow_to(double value, T& out) noexcept {
  // Both ends are exact doubles; the upper one, 2^digits, is the first that does not fit.
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (!(value >= low && value < high) || std::trunc(value) != value) return Fit::none;
  out = static_cast<T>(value);
  return Fit::exact;
}

template <std::integral T, std::integral Wide>
Fit narrow_to(Wide value, T& out) noexcept {
  if (!std::in_range<T>(value)) return Fit::none;
  out = static_cast<T>(value);
  return Fit::exact;
}

template <std::floating_point T, class Wide>
Fit narrow_to(Wide value, T& out) noexcept {
  out = static_cast<T>(value);
  return float_fit(static_cast<double>(out), value);
}

template <class Wide>
Fit narrow_to(Wide value, Half& out) noexcept {
  out.bits = support::half_of(static_cast<double>(value));
  return float_fit(support::double_of_half(out.bits), value);
}

template <class Wide>
Fit narrow_to(Wide value, Bfloat16& out) noexcept {
  out.bits = support::bfloat16_of(static_cast<double>(value));
  return float_fit(support::double_of_bfloat16(out.bits), value);
}

}  // namespace tessera::io
