// SPDX-License-Identifier: Apache-2.0
// The tests' own converters, against the oracle's decoder.
#include "support/data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "contract/oracle.hpp"

namespace tessera::testing {
namespace {

double decoded(std::uint16_t bits, DType dtype) { return oracle::element(dense(&bits, dtype, 1, 1), 0, 0); }

TEST(TestData, EncodesEveryHalfAndBrainValueAsItself) {
  for (unsigned i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double half = decoded(bits, DType::f16);
    const double brain = decoded(bits, DType::bf16);
    ASSERT_TRUE(std::isnan(half) || half_bits(half) == bits) << bits;
    ASSERT_TRUE(std::isnan(brain) || brain_bits(brain) == bits) << bits;
  }
}

TEST(TestData, RoundsHalvesToNearestEven) {
  EXPECT_EQ(decoded(half_bits(1 + 0x1p-11), DType::f16), 1.0);
  EXPECT_EQ(decoded(half_bits(1 + 0x1.8p-10), DType::f16), 1 + 0x1p-9);
  EXPECT_EQ(decoded(half_bits(65519), DType::f16), 65504);
  EXPECT_TRUE(std::isinf(decoded(half_bits(65520), DType::f16)));
  EXPECT_EQ(decoded(half_bits(0x1p-25), DType::f16), 0.0);
  EXPECT_EQ(decoded(half_bits(0x1.8p-25), DType::f16), 0x1p-24);
}

TEST(TestData, ReadsTheSameThroughEveryLayout) {
  std::mt19937_64 random(50);
  const Matrix m = make(Kind::small_integers, 5, 7, random);
  for (int type = 0; type < kDTypeCount; ++type) {
    for (int layout = 0; layout < kLayoutCount; ++layout) {
      const Stored stored(m, static_cast<DType>(type), static_cast<Layout>(layout));
      for (Index i = 0; i < 5; ++i) {
        for (Index t = 0; t < 7; ++t) ASSERT_EQ(oracle::element(stored.rows(), i, t), m.row(i)[t]) << type << ", " << layout;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
