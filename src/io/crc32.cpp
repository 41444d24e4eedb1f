// SPDX-License-Identifier: Apache-2.0
#include "io/crc32.hpp"

#include <array>

#include "support/config.hpp"

#if TESSERA_HAVE_ZLIB
#include <zlib.h>
#endif

namespace tessera::io {

namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0xedb88320U : value >> 1;
    table[i] = value;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32_by_table(std::uint32_t crc, Bytes bytes) noexcept {
  crc = ~crc;
  for (const std::byte b : bytes) crc = kTable[(crc ^ static_cast<std::uint32_t>(b)) & 0xff] ^ crc >> 8;
  return ~crc;
}

#if TESSERA_HAVE_ZLIB
std::uint32_t crc32_of(std::uint32_t crc, Bytes bytes) noexcept {
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}
#else
std::uint32_t crc32_of(std::uint32_t crc, Bytes bytes) noexcept { return crc32_by_table(crc, bytes); }
#endif

}  // namespace tessera::io
