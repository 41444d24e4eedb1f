// SPDX-License-Identifier: Apache-2.0
#include "support/float16.hpp"

#include <bit>

namespace tessera::support {

namespace {

constexpr int kDoubleMantissa = 52;
constexpr int kDoubleBias = 1023;
constexpr std::uint64_t kDoubleExponentMax = 0x7ff;

struct Shape {
  int exponent;  // bits
  int mantissa;  // bits
  int bias;
};
constexpr Shape kHalf{5, 10, 15};
constexpr Shape kBfloat16{8, 7, 127};

/// bits / 2^shift, to nearest, ties to even. shift ≥ 1.
std::uint64_t shift_round(std::uint64_t bits, int shift) noexcept {
  if (shift > 63) return 0;  // bits < 2^53: less than half a unit
  const std::uint64_t kept = bits >> shift;
  const std::uint64_t rest = bits & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

std::uint16_t narrow(double value, Shape shape) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = bits >> 63 << 15;
  const std::uint64_t field = bits >> kDoubleMantissa & kDoubleExponentMax;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << kDoubleMantissa) - 1);
  const std::uint64_t infinity = ((std::uint64_t{1} << shape.exponent) - 1) << shape.mantissa;
  if (field == kDoubleExponentMax) {
    const std::uint64_t quiet = fraction != 0 ? std::uint64_t{1} << (shape.mantissa - 1) : 0;
    return static_cast<std::uint16_t>(sign | infinity | quiet);
  }
  if (field == 0) return static_cast<std::uint16_t>(sign);  // zero, or far below the smallest of either type
  const std::uint64_t significand = fraction | std::uint64_t{1} << kDoubleMantissa;
  const int exponent = static_cast<int>(field) - kDoubleBias + shape.bias;
  const int shift = kDoubleMantissa - shape.mantissa;
  // The leading 1 is added into the exponent field, and so is a carry out of the mantissa.
  const std::uint64_t magnitude =
      exponent >= 1 ? (static_cast<std::uint64_t>(exponent - 1) << shape.mantissa) + shift_round(significand, shift)
                    : shift_round(significand, shift + 1 - exponent);
  return static_cast<std::uint16_t>(sign | (magnitude < infinity ? magnitude : infinity));
}

}  // namespace

std::uint16_t half_of(double value) noexcept { return narrow(value, kHalf); }
std::uint16_t bfloat16_of(double value) noexcept { return narrow(value, kBfloat16); }

double double_of_half(std::uint16_t bits) noexcept {
  const bool negative = bits >> 15 != 0;
  const std::uint64_t exponent = bits >> 10 & 0x1fU;
  const std::uint64_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {
    const double magnitude = static_cast<double>(mantissa) * 0x1p-24;
    return negative ? -magnitude : magnitude;
  }
  const std::uint64_t field = exponent == 0x1f ? kDoubleExponentMax : exponent + (kDoubleBias - 15);
  return std::bit_cast<double>(static_cast<std::uint64_t>(negative) << 63 | field << kDoubleMantissa | mantissa << 42);
}

double double_of_bfloat16(std::uint16_t bits) noexcept {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

}  // namespace tessera::support
