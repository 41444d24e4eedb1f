// SPDX-License-Identifier: Apache-2.0
// Here: numbers out of and into unaligned bytes of a stated byte order. Not here: what the bytes mean.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tessera/rows.hpp"

namespace tessera::io {

using Bytes = std::span<const std::byte>;

/// The little-endian number at p. Shifts, not memcpy, so that it is right on any host; compilers make it one load.
template <std::unsigned_integral T>
T load_le(const std::byte* p) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<std::uint64_t>(p[i]) << (8 * i);
  return static_cast<T>(value);
}

/// The big-endian number at p.
template <std::unsigned_integral T>
T load_be(const std::byte* p) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = value << 8 | static_cast<std::uint64_t>(p[i]);
  return static_cast<T>(value);
}

/// Appends `value` to `out`, little-endian.
template <std::unsigned_integral T>
void append_le(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

/// True when elements stored in `order` must be swapped before this machine can use them.
inline bool is_swapped(std::endian order, DType dtype) noexcept {
  return order != std::endian::native && size_of(dtype) > 1;
}

inline Bytes as_bytes(std::string_view text) noexcept { return std::as_bytes(std::span(text)); }

inline std::string_view as_text(Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tessera::io
