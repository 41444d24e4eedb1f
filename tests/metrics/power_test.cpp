// SPDX-License-Identifier: Apache-2.0
// The power routine against long double: its bits are its own, its value must be right.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace tessera::testing {
namespace {

#include "metrics/power.inc"

double ulps(double got, long double want) {
  const double nearest = static_cast<double>(want);
  const double ulp = std::nextafter(nearest, std::numeric_limits<double>::infinity()) - nearest;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / static_cast<long double>(ulp));
}

TEST(Power, IsWithinTwoUlpsWhereTermsMatter) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-30, 30);
  std::uniform_real_distribution<double> order(0.001, 40);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double x = std::exp2(exponent(random));
    const double p = order(random);
    if (std::fabs(p * std::log2(x)) > 60) continue;
    worst = std::max(worst, ulps(power(x, p), std::pow(static_cast<long double>(x), static_cast<long double>(p))));
  }
  EXPECT_LT(worst, 2);
  EXPECT_GT(worst, 0.4) << "nothing was measured";
}

TEST(Power, StaysRightOverTheWholeRange) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> exponent(-1070, 1020);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::exp2(exponent(random));
    for (const double p : {0.5, 1.0 / 3, 0.9, 1.1, 1.7, 2.5}) {
      const long double want = std::pow(static_cast<long double>(x), static_cast<long double>(p));
      if (want < 0x1p-1022L || want > 0x1p1023L) continue;
      ASSERT_LT(ulps(power(x, p), want), 2) << x << " " << p;
    }
  }
}

TEST(Root, IsWithinTwoUlps) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-1070, 1020);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::exp2(exponent(random));
    for (const double p : {1.0, 1.5, 2.0, 3.0, 7.0, 540.0, 1e10}) {
      ASSERT_LT(ulps(root(x, p), std::pow(static_cast<long double>(x), 1 / static_cast<long double>(p))), 2) << x << " " << p;
    }
  }
  EXPECT_EQ(root(27, 3), 3);
  EXPECT_EQ(root(0, 3), 0);
}

TEST(Power, KnowsItsEnds) {
  EXPECT_EQ(power(0, 2.5), 0);
  EXPECT_EQ(power(1, 2.5), 1);
  EXPECT_EQ(power(0.5, 1e300), 0);
  EXPECT_EQ(power(2, 1e300), std::numeric_limits<double>::infinity());
  EXPECT_EQ(power(1, 1e300), 1);
  EXPECT_EQ(power(3, 4), 81);
  EXPECT_EQ(power(8, 1.0 / 3), 2);
  EXPECT_EQ(power(0x1p-1074, 0.5), 0x1p-537);
  EXPECT_EQ(power(0.5, 1074), 0x1p-1074);
}

}  // namespace
}  // namespace tessera::testing
