// SPDX-License-Identifier: Apache-2.0
#include "select/nth_smallest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tessera::select {
namespace {

constexpr std::size_t kBisected = 64;  // up to this many; measured at k = 10
constexpr int kRounds = 24;
constexpr std::size_t kFew = 128;  // below, clearing and walking the counts costs more than it saves
constexpr int kDigitBits = 11;     // three digits make 32 bits and a little; counts of 8 KiB stay in L1

/// Bits of a float in an order of integers: negative ones turned round, positive ones above them.
std::uint32_t ordered(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

float restored(std::uint32_t key) noexcept { return std::bit_cast<float>((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key); }

/// Bisects by value until as many are below as are wanted, without branches that the data mislead. False: equal or infinite values, or
/// ones too close together.
bool bisect(std::span<const float> values, Index rank, float& found) noexcept {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  float low = *least;
  float high = *most;
  for (int round = 0; round < kRounds && std::isfinite(low) && std::isfinite(high); ++round) {
    const float middle = low + 0.5f * (high - low);
    Index below = 0;
    for (const float v : values) below += v <= middle ? 1 : 0;
    if (below == rank + 1) {
      found = *least;
      for (const float v : values) found = v <= middle ? std::max(found, v) : found;
      return true;
    }
    (below > rank ? high : low) = middle;
  }
  return false;
}

}  // namespace

float nth_smallest(std::span<float> values, Index rank) noexcept {
  if (float found = 0; values.size() <= kBisected && bisect(values, rank, found)) return found;
  const auto less = [](float a, float b) { return ordered(a) < ordered(b); };
  std::size_t count = values.size();
  // Digit by digit from the top: the values that share the wanted value's digits so far move to the front.
  std::uint32_t prefix = 0;
  for (int shift = 32 - kDigitBits; count > kFew && shift > -kDigitBits; shift -= kDigitBits) {
    const int right = std::max(shift, 0);
    const std::uint32_t mask = (1u << std::min(kDigitBits, kDigitBits + shift)) - 1;
    std::array<std::uint32_t, 1u << kDigitBits> counts{};
    for (const float v : values.first(count)) ++counts[ordered(v) >> right & mask];
    std::uint32_t digit = 0;
    while (rank >= static_cast<Index>(counts[digit])) rank -= counts[digit++];
    prefix |= digit << right;
    if (right == 0) return restored(prefix);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const float v = values[i];
      values[kept] = v;
      kept += (ordered(v) >> right & mask) == digit ? 1 : 0;
    }
    count = kept;
  }
  std::nth_element(values.begin(), values.begin() + rank, values.begin() + static_cast<Index>(count), less);
  return values[static_cast<std::size_t>(rank)];
}

}  // namespace tessera::select
