// SPDX-License-Identifier: Apache-2.0
#include "dump/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace tessera::dump {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    table[i] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

/// The register after `kLane` more zero bytes, by its four bytes: crc(a b) = after(crc(a)) ^ crc(b) for b of that length.
constexpr std::size_t kLane = 1024;

std::array<std::array<std::uint32_t, 256>, 4> make_shift() {
  std::array<std::array<std::uint32_t, 256>, 4> shift{};
  // Linear over bits: a value's register is that of its lowest bit and that of the rest.
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    for (std::uint32_t value = 1; value < 256; ++value) {
      const std::uint32_t rest = value & (value - 1);
      if (rest != 0) {
        shift[byte][value] = shift[byte][rest] ^ shift[byte][value ^ rest];
        continue;
      }
      std::uint32_t state = value << (8 * byte);
      for (std::size_t i = 0; i < kLane; ++i) state = (state >> 8) ^ kTable[state & 0xff];
      shift[byte][value] = state;
    }
  }
  return shift;
}

std::uint32_t shifted(std::uint32_t state) noexcept {
  static const auto kShift = make_shift();
  return kShift[0][state & 0xff] ^ kShift[1][(state >> 8) & 0xff] ^ kShift[2][(state >> 16) & 0xff] ^ kShift[3][state >> 24];
}

#if defined(__x86_64__)
std::uint64_t word_at(const std::byte* p) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
  std::uint64_t state = static_cast<std::uint32_t>(~crc);
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  // The instruction takes three cycles and can start every cycle: three lanes side by side.
  for (; left >= 3 * kLane; left -= 3 * kLane, p += 3 * kLane) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kLane; i += 8) {
      state = _mm_crc32_u64(state, word_at(p + i));
      second = _mm_crc32_u64(second, word_at(p + kLane + i));
      third = _mm_crc32_u64(third, word_at(p + 2 * kLane + i));
    }
    state = shifted(shifted(static_cast<std::uint32_t>(state)) ^ static_cast<std::uint32_t>(second)) ^ static_cast<std::uint32_t>(third);
  }
  for (; left >= 8; left -= 8, p += 8) state = _mm_crc32_u64(state, word_at(p));
  auto narrow = static_cast<std::uint32_t>(state);
  for (; left > 0; --left, ++p) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*p));
  return ~narrow;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
  crc = ~crc;
  for (const std::byte b : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint32_t>(b)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return by_instruction(crc, bytes);
#endif
  return crc32c_by_table(crc, bytes);
}

}  // namespace tessera::dump
