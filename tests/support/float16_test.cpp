// SPDX-License-Identifier: Apache-2.0
#include "support/float16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera::support {
namespace {

/// The value by its definition; for finite bits.
double by_definition(std::uint16_t bits, int mantissa, int bias) {
  const int field = (bits & 0x7fff) >> mantissa;
  const int fraction = bits & ((1 << mantissa) - 1);
  const double magnitude = field == 0 ? std::ldexp(fraction, 1 - bias - mantissa)
                                      : std::ldexp(fraction + (1 << mantissa), field - bias - mantissa);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

struct Kind {
  std::uint16_t (*narrow)(double) noexcept;
  double (*widen)(std::uint16_t) noexcept;
  int mantissa;
  int bias;
  std::uint16_t infinity;
};
constexpr Kind kKinds[] = {{half_of, double_of_half, 10, 15, 0x7c00},
                           {bfloat16_of, double_of_bfloat16, 7, 127, 0x7f80}};

TEST(Float16, WidensEveryValueByItsDefinition) {
  for (const Kind& kind : kKinds) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      const auto b = static_cast<std::uint16_t>(bits);
      if ((b & 0x7fff) >= kind.infinity) continue;
      ASSERT_EQ(kind.widen(b), by_definition(b, kind.mantissa, kind.bias)) << bits;
      ASSERT_EQ(std::signbit(kind.widen(b)), bits >= 0x8000) << bits;
    }
  }
}

TEST(Float16, NarrowsEveryValueAndEveryMiddleToNearestEven) {
  for (const Kind& kind : kKinds) {
    for (unsigned bits = 0; bits < kind.infinity; ++bits) {
      const auto b = static_cast<std::uint16_t>(bits);
      const double low = kind.widen(b);
      // Past the largest finite value, the next one would be 2^(bias + 1).
      const double high = bits + 1U < kind.infinity ? kind.widen(static_cast<std::uint16_t>(b + 1))
                                                    : std::ldexp(1.0, kind.bias + 1);
      const double middle = low + (high - low) / 2;
      for (const double sign : {1.0, -1.0}) {
        const unsigned top = sign < 0 ? 0x8000 : 0;
        ASSERT_EQ(kind.narrow(sign * low), bits | top);
        ASSERT_EQ(kind.narrow(sign * middle), (bits % 2 == 0 ? bits : bits + 1) | top) << bits;
        ASSERT_EQ(kind.narrow(sign * std::nextafter(middle, 0.0)), bits | top) << bits;
        ASSERT_EQ(kind.narrow(sign * std::nextafter(middle, INFINITY)), (bits + 1) | top) << bits;
      }
    }
  }
}

TEST(Float16, KeepsInfinitiesNaNsAndVanishes) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const Kind& kind : kKinds) {
    EXPECT_EQ(kind.narrow(kInf), kind.infinity);
    EXPECT_EQ(kind.narrow(-kInf), kind.infinity | 0x8000);
    EXPECT_EQ(kind.narrow(std::numeric_limits<double>::max()), kind.infinity);
    EXPECT_EQ(kind.narrow(std::numeric_limits<double>::denorm_min()), 0);
    EXPECT_EQ(kind.narrow(-1e-300), 0x8000);
    EXPECT_TRUE(std::isnan(kind.widen(kind.narrow(std::numeric_limits<double>::quiet_NaN()))));
    EXPECT_EQ(kind.widen(kind.infinity), kInf);
  }
}

}  // namespace
}  // namespace tessera::support
