// SPDX-License-Identifier: Apache-2.0
// Here: canonical values on their way into float16, for every evaluator.
#pragma once

#include <cmath>
#include <cstdint>

#include "support/fail.hpp"
#include "tessera/rows.hpp"

namespace tessera::engine {

/// The nearest IEEE half, ties to even, of a double: one rounding. Past 65,519.99 it is infinity.
inline std::uint16_t half_of(double value) noexcept {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000u : 0u);
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00u);
  // The last place of a half: 2^-24 below 2^-14, else ten bits behind the leading one.
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const double steps = std::nearbyint(std::ldexp(magnitude, 10 - exponent));  // < 2048, or 2048: the carry is right as it is
  return static_cast<std::uint16_t>(sign | (static_cast<unsigned>(exponent + 14) * 1024u + static_cast<unsigned>(steps)));
}

[[noreturn]] inline void fail_past_half(Index batch, Index row, Index col, double value) {
  support::fail(ErrorCode::malformed_input, "entry ({}{}, {}) is {:g}, past float16's largest, 65504: use float32",
                batch > 0 ? fmt::format("{}, ", batch) : "", row, col, value);
}

}  // namespace tessera::engine
