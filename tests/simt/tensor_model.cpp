// SPDX-License-Identifier: Apache-2.0
#include "simt/tensor_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tessera::testing {
namespace {

/// sign * significand * 2^lowest, whose exponent as the device aligns it is `exponent`.
struct Term {
  bool negative;
  std::uint64_t significand;
  int lowest;
  int exponent;
};

struct Parts {
  bool negative;
  std::uint64_t significand;
  int exponent;  // of the place before the point; subnormals have that of the smallest normal
};

Parts parts_of(std::uint32_t bits, int mantissa) noexcept {
  const int field = static_cast<int>(bits >> mantissa & 0xffU);
  const std::uint32_t fraction = bits & ((1U << mantissa) - 1);
  const bool normal = field != 0;
  return {(bits >> (mantissa + 8)) != 0, fraction | (normal ? 1U << mantissa : 0U), (normal ? field : 1) - 127};
}

Term term_of(float c) noexcept {
  const Parts p = parts_of(std::bit_cast<std::uint32_t>(c), 23);
  return {p.negative, p.significand, p.exponent - 23, p.exponent};
}

Term term_of(std::uint16_t a, std::uint16_t b) noexcept {
  const Parts x = parts_of(a, 7);
  const Parts y = parts_of(b, 7);
  return {x.negative != y.negative, x.significand * y.significand, x.exponent + y.exponent - 14, x.exponent + y.exponent};
}

/// Units of 2^unit, cut off towards zero.
std::int64_t in_units(const Term& t, int unit) noexcept {
  const int up = t.lowest - unit;
  const std::uint64_t size = up >= 0 ? t.significand << up : -up < 64 ? t.significand >> -up : 0;
  return t.negative ? -static_cast<std::int64_t>(size) : static_cast<std::int64_t>(size);
}

/// sum * 2^unit, cut off to a float.
float cut_off(std::int64_t sum, int unit) noexcept {
  auto size = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int width = 64 - std::countl_zero(size);
  const int drop = std::max({0, width - 24, -149 - unit});
  size = drop < 64 ? size >> drop << drop : 0;
  const double value = std::ldexp(static_cast<double>(size), unit);  // at most 24 bits: exact, also as a float
  return static_cast<float>(sum < 0 ? -value : value);
}

bool finite(std::uint16_t bits) noexcept { return (bits >> 7 & 0xffU) != 0xffU; }
double value_of(std::uint16_t bits) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// One addition of `n` products.
float step(const cuda::TensorArch& arch, float c, const std::uint16_t* a, const std::uint16_t* b, int n) noexcept {
  bool all_finite = std::isfinite(c);
  for (int t = 0; t < n; ++t) all_finite = all_finite && finite(a[t]) && finite(b[t]);
  if (!all_finite) {  // rows without a bound: whatever NaN and infinities give
    double sum = c;
    for (int t = 0; t < n; ++t) sum += value_of(a[t]) * value_of(b[t]);
    return static_cast<float>(sum);
  }
  int highest = std::numeric_limits<int>::min();
  const Term start = term_of(c);
  if (start.significand != 0) highest = start.exponent;
  for (int t = 0; t < n; ++t) {
    const Term product = term_of(a[t], b[t]);
    if (product.significand != 0) highest = std::max(highest, product.exponent);
  }
  if (highest == std::numeric_limits<int>::min()) return 0;
  const int unit = highest - 23 - arch.extra_bits;
  std::int64_t sum = in_units(start, unit);
  for (int t = 0; t < n; ++t) sum += in_units(term_of(a[t], b[t]), unit);
  return cut_off(sum, unit);
}

}  // namespace

float tensor_sum(const cuda::TensorArch& arch, float c, std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) {
  for (std::size_t t = 0; t < a.size(); t += static_cast<std::size_t>(arch.products)) c = step(arch, c, a.data() + t, b.data() + t, arch.products);
  return c;
}

}  // namespace tessera::testing
