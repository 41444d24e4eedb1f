// SPDX-License-Identifier: Apache-2.0
// Conversion, scan, normalisation, narrowing and interleaving of single rows.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "contract/oracle.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> converted(const std::string& isa, const RowSet& rows, Index row) {
  std::vector<double> out(static_cast<std::size_t>((rows.cols + 15) / 16 * 16), 7.0);
  kernels_of(isa).convert[static_cast<int>(rows.dtype)](rows.row(row), rows.col_stride, rows.byte_swapped, rows.cols, out.data());
  return out;
}

void expect_same_bits(double got, double want, const std::string& where) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << where;
  } else {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(want)) << where;
  }
}

TEST(Conversion, ReadsEverySixteenBitPattern) {
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  for (const DType dtype : {DType::f16, DType::bf16, DType::i16, DType::u16}) {
    RowSet rows = dense(patterns.data(), dtype, 1, 65536);
    for (const bool swapped : {false, true}) {
      rows.byte_swapped = swapped;
      for (const std::string& isa : isas()) {
        const std::vector<double> got = converted(isa, rows, 0);
        for (Index t = 0; t < 65536 && !HasFailure(); ++t) expect_same_bits(got[static_cast<std::size_t>(t)], oracle::element(rows, 0, t), isa + " " + std::string(name_of(dtype)));
      }
    }
  }
}

TEST(Conversion, ReadsEveryByte) {
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  for (const std::string& isa : isas()) {
    const auto u8 = converted(isa, dense(bytes.data(), DType::u8, 1, 256), 0);
    const auto i8 = converted(isa, dense(bytes.data(), DType::i8, 1, 256), 0);
    for (int i = 0; i < 256; ++i) {
      EXPECT_EQ(u8[static_cast<std::size_t>(i)], i);
      EXPECT_EQ(i8[static_cast<std::size_t>(i)], i < 128 ? i : i - 256);
    }
  }
}

TEST(Conversion, ReadsEveryTypeInEveryLayoutAndPadsWithZeros) {
  std::mt19937_64 random(2);
  for (int type = 0; type < kDTypeCount; ++type) {
    for (int layout = 0; layout < kLayoutCount; ++layout) {
      for (const Index d : {1, 15, 16, 17, 40}) {
        Matrix m = make(Kind::normal, 3, d, random);
        for (double& v : m.values) v *= 50;
        const Stored stored(m, static_cast<DType>(type), static_cast<Layout>(layout));
        for (const std::string& isa : isas()) {
          const auto got = converted(isa, stored.rows(), 2);
          for (Index t = 0; t < std::ssize(got); ++t) {
            const double want = t < d ? oracle::element(stored.rows(), 2, t) : 0.0;
            ASSERT_EQ(got[static_cast<std::size_t>(t)], want) << isa << ", " << name_of(static_cast<DType>(type)) << ", " << name_of(static_cast<Layout>(layout)) << ", d " << d;
          }
        }
      }
    }
  }
}

TEST(Conversion, ReadsWideIntegersExactlyUpTo2To53) {
  const std::int64_t values[] = {0, 1, -1, (std::int64_t{1} << 53), -(std::int64_t{1} << 53), (std::int64_t{1} << 53) - 1};
  for (const std::string& isa : isas()) {
    const auto got = converted(isa, dense(values, DType::i64, 1, 6), 0);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(static_cast<std::int64_t>(got[i]), values[i]);
  }
}

TEST(Scan, FindsTheLargestAndWhatIsNotFinite) {
  for (const std::string& isa : isas()) {
    const auto scan = kernels_of(isa).scan;
    for (Index at = 0; at < 32; ++at) {
      std::vector<double> row(32, 0.5);
      row[static_cast<std::size_t>(at)] = -3;
      EXPECT_EQ(scan(row.data(), 32).max_abs, 3.0) << isa;
      EXPECT_TRUE(scan(row.data(), 32).finite) << isa;
      for (const double bad : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
        row[static_cast<std::size_t>(at)] = bad;
        EXPECT_FALSE(scan(row.data(), 32).finite) << isa << " at " << at;
      }
      row[static_cast<std::size_t>(at)] = std::numeric_limits<double>::max();
      EXPECT_TRUE(scan(row.data(), 32).finite) << "the largest double is finite";
    }
  }
}

TEST(Normalisation, HasTheOraclesBitsAtEveryScale) {
  std::mt19937_64 random(3);
  for (const int exponent : {0, 1, -1, 500, -500, 333, -333, 1019, -1022, -1050, -1074}) {
    for (const Index d : {1, 3, 16, 40}) {
      Matrix m = make(Kind::normal, 1, d, random);
      for (double& v : m.values) v = std::ldexp(v, exponent);
      if (exponent == -1074) m.values[0] = 0x1p-1074;
      const std::vector<double> want = oracle::read_row(m.view(), 0, Metric::cosine);
      for (const std::string& isa : isas()) {
        std::vector<double> row = m.values;
        row.resize(static_cast<std::size_t>((d + 15) / 16 * 16), 0.0);
        const auto& k = kernels_of(isa);
        k.normalise(row.data(), std::ssize(row), k.scan(row.data(), std::ssize(row)).max_abs);
        for (std::size_t t = 0; t < want.size(); ++t) expect_same_bits(row[t], want[t], isa + ", exponent " + std::to_string(exponent));
      }
    }
  }
}

TEST(Normalisation, LeavesAZeroRow) {
  for (const std::string& isa : isas()) {
    std::vector<double> row(16, 0.0);
    kernels_of(isa).normalise(row.data(), 16, 0.0);
    EXPECT_EQ(row, std::vector<double>(16, 0.0));
  }
}

TEST(Narrowing, RoundsToNearestAndTellsWhatWasLost) {
  std::mt19937_64 random(4);
  const Index d = 32;
  const Matrix row = make(Kind::normal, 1, d, random);
  const Matrix centre = make(Kind::normal, 1, d, random);
  for (const std::string& isa : isas()) {
    std::vector<float> out(32, -1.0f);
    const auto stats = kernels_of(isa).pack(row.values.data(), centre.values.data(), 0.25, d, out.data());
    long double norm2 = 0, residual2 = 0, residual_sum = 0, residual_max = 0;
    for (std::size_t t = 0; t < 32; ++t) {
      const double v = (row.values[t] - centre.values[t]) * 0.25;
      ASSERT_EQ(out[t], static_cast<float>(v)) << isa;
      const long double r = std::abs(static_cast<long double>(v) - out[t]);
      norm2 += static_cast<long double>(v) * v;
      residual2 += r * r;
      residual_sum += r;
      residual_max = std::max(residual_max, r);
    }
    EXPECT_NEAR(stats.norm2, static_cast<double>(norm2), 1e-14 * stats.norm2) << isa;
    EXPECT_NEAR(stats.residual2, static_cast<double>(residual2), 1e-14 * stats.residual2) << isa;
    EXPECT_NEAR(stats.residual_sum, static_cast<double>(residual_sum), 1e-14 * stats.residual_sum) << isa;
    EXPECT_EQ(stats.residual_max, static_cast<double>(residual_max)) << isa;
  }
}

TEST(Interleaving, PutsColumnsSideBySideAndFillsTheRest) {
  const float rows[] = {1, 2, 3, -1, 4, 5, 6, -1};  // two rows of three, stride 4
  for (const std::string& isa : isas()) {
    std::vector<float> panel(12, 99.0f);
    kernels_of(isa).interleave(rows, 4, 2, 3, 4, panel.data());
    EXPECT_EQ(panel, (std::vector<float>{1, 4, 0, 0, 2, 5, 0, 0, 3, 6, 0, 0}));
  }
}

TEST(Interleaving, FullPanelsOfAnyWidthAndDepthHoldEveryElementInItsPlace) {
  for (const std::string& isa : isas()) {
    for (const Index width : {4, 6, 8, 24, 48}) {
      for (const Index d : {1, 3, 4, 5, 8, 15, 33}) {
        const Index stride = d + 3;
        std::vector<float> rows(static_cast<std::size_t>(width * stride));
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
        std::vector<float> panel(static_cast<std::size_t>(d * width) + 1, -1.0f);
        kernels_of(isa).interleave(rows.data(), stride, width, d, width, panel.data());
        for (Index t = 0; t < d; ++t) {
          for (Index j = 0; j < width; ++j) {
            ASSERT_EQ(panel[static_cast<std::size_t>(t * width + j)], static_cast<float>(j * stride + t)) << isa << " width " << width << " d " << d;
          }
        }
        EXPECT_EQ(panel.back(), -1.0f) << "written past the end";
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
