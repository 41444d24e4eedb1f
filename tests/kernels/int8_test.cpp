// SPDX-License-Identifier: Apache-2.0
// The 8-bit screen's sums are exact integers, the same on every instruction set, out to the largest that may occur.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/contract.hpp"
#include "support/cpu.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using kernels::CpuKernels;
using kernels::Hit;
using kernels::HitList;

}  // namespace
}  // namespace tessera::testing

#ifdef TESSERA_TEST_EMULATED_ISAS
namespace tessera::kernels::emulated_vnni {
const CpuKernels& table() noexcept;  // emulated_vnni.cpp
}
#endif

namespace tessera::testing {
namespace {

/// Every table that this CPU can run, that of VNNI by other instructions.
std::vector<const CpuKernels*> tables() {
  std::vector<const CpuKernels*> all;
  for (const std::string& isa : isas()) all.push_back(&kernels_of(isa));
#ifdef TESSERA_TEST_EMULATED_ISAS
  if (support::cpu_features().avx512) all.push_back(&kernels::emulated_vnni::table());
#endif
  return all;
}

constexpr int kBaseLevels = 127;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Query rows and base rows of integers, as the kernels take them.
struct Integers {
  Integers(const CpuKernels& k, Index query_rows, Index base_panels, Index words, bool extreme) : rows(query_rows), panels(base_panels), depth(words) {
    std::mt19937_64 random(17);
    const int levels = k.int8_levels;
    auto within = [&](int most) {
      if (extreme) return random() % 2 == 0 ? most : -most;
      return static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most;
    };
    for (Index i = 0; i < rows * depth * 4; ++i) x.push_back(extreme && i / (depth * 4) % 2 == 0 ? levels : within(levels));
    for (Index c = 0; c < panels * k.panel_cols; ++c) {
      for (Index t = 0; t < depth * 4; ++t) y.push_back(extreme ? largest(k, c, t) : within(k.int8_group_sum > 0 ? k.int8_group_sum / 8 : kBaseLevels));
    }
    query.resize(static_cast<std::size_t>(rows * depth));
    base.resize(static_cast<std::size_t>(panels * k.panel_cols * depth));
    start.resize(static_cast<std::size_t>(panels * k.panel_cols));
    for (Index r = 0; r < rows; ++r) {
      for (Index t = 0; t < depth * 4; ++t) byte(query, (t / 4) * rows + r, t % 4) = static_cast<unsigned char>(x_at(r, t) + levels);
    }
    for (Index c = 0; c < panels * k.panel_cols; ++c) {
      int sum = 0;
      for (Index t = 0; t < depth * 4; ++t) {
        byte(base, (c / k.panel_cols * depth + t / 4) * k.panel_cols + c % k.panel_cols, t % 4) = static_cast<unsigned char>(y_at(c, t));
        sum += y_at(c, t);
      }
      start[static_cast<std::size_t>(c)] = -levels * sum;
    }
  }

  /// The largest integers that base rows may hold: everywhere, or in groups of eight that add up to all that a group may.
  static int largest(const CpuKernels& k, Index c, Index t) {
    const int sign = c % 4 < 2 ? 1 : -1;
    if (k.int8_group_sum == 0) return sign * kBaseLevels;
    const Index in_group = t / 4 % 4 * 2 + t % 2;
    if (c % 2 == 0) return sign * (k.int8_group_sum / 8 + (in_group < k.int8_group_sum % 8 ? 1 : 0));
    if (in_group < 2) return sign * (in_group == 0 ? kBaseLevels : k.int8_group_sum - kBaseLevels);
    return in_group == 5 ? -sign * kBaseLevels : 0;  // the other sign has a sum of its own
  }

  static unsigned char& byte(std::vector<float>& words, Index word, Index i) { return reinterpret_cast<unsigned char*>(words.data() + word)[i]; }
  int x_at(Index r, Index t) const { return x[static_cast<std::size_t>(r * depth * 4 + t)]; }
  int y_at(Index c, Index t) const { return y[static_cast<std::size_t>(c * depth * 4 + t)]; }
  int product(Index r, Index c) const {
    int sum = 0;
    for (Index t = 0; t < depth * 4; ++t) sum += x_at(r, t) * y_at(c, t);
    return sum;
  }

  Index rows, panels, depth;
  std::vector<int> x, y;
  std::vector<float> query, base;
  std::vector<std::int32_t> start;
};

void expect_scores(const CpuKernels& k, const Integers& in) {
  const Index cols = in.panels * k.panel_cols;
  const std::vector<float> thresholds(static_cast<std::size_t>(in.rows), kInfinity), factor(static_cast<std::size_t>(in.rows), 2.0f),
      reach(static_cast<std::size_t>(in.rows), 0.5f), scale(static_cast<std::size_t>(cols), 0.25f), residual(static_cast<std::size_t>(cols), 8.0f),
      bias(static_cast<std::size_t>(cols), 16.0f);
  std::vector<Hit> hits(static_cast<std::size_t>(in.rows * (cols + k.panel_cols)));
  std::vector<HitList> lists;
  for (Index r = 0; r < in.rows; ++r) lists.push_back({hits.data() + r * (cols + k.panel_cols), 0});
  const kernels::ScreenCall call{.query = in.query.data(), .base = in.base.data(), .bias = bias.data(), .thresholds = thresholds.data(),
                                 .lists = lists.data(), .depth = in.depth, .first_panel = 0, .last_panel = in.panels,
                                 .capacity = static_cast<std::int32_t>(cols + k.panel_cols), .factor = 2, .row_factor = factor.data(),
                                 .row_reach = reach.data(), .col_scale = scale.data(), .col_residual = residual.data(), .col_start = in.start.data()};
  ASSERT_EQ(k.int8_screen(in.rows).screen(call), in.panels);
  for (Index r = 0; r < in.rows; ++r) {
    ASSERT_EQ(lists[static_cast<std::size_t>(r)].count, cols);
    for (Index c = 0; c < cols; ++c) {
      const Hit& hit = lists[static_cast<std::size_t>(r)].hits[c];
      ASSERT_EQ(hit.position, c);
      ASSERT_EQ(hit.score, 16.0f - 0.5f * static_cast<float>(in.product(r, c)) - 4.0f) << "row " << r << ", column " << c;
    }
  }
}

TEST(Int8Screen, SumsIntegersExactlyUpToTheLargest) {
  for (const CpuKernels* table : tables()) {
    const CpuKernels& k = *table;
    SCOPED_TRACE(k.isa);
    for (Index rows = 1; rows <= k.panel_rows; rows *= 2) {
      for (const bool extreme : {false, true}) {
        SCOPED_TRACE(extreme ? "extreme" : "any");
        for (const Index words : {1, 4, 7, 12}) expect_scores(k, Integers(k, rows, 2, words, extreme));
      }
    }
  }
}

TEST(Quantising, RoundsToTheNearestIntegerAndTellsWhatIsLeft) {
  for (const CpuKernels* table : tables()) {
    const CpuKernels& k = *table;
    SCOPED_TRACE(k.isa);
    const int levels = k.int8_levels;
    std::vector<double> row(32, 0.0), centre(32, 0.0);
    row[0] = 0.5 * levels;
    row[3] = 1.2;
    row[17] = -0.8;
    std::vector<std::int8_t> q(32, 99);
    const kernels::QuantiseStats stats = k.quantise_query(row.data(), centre.data(), 2.0, kernels::kSmallestStep, 32, q.data());
    EXPECT_EQ(stats.step, 1.0f);
    EXPECT_EQ(q[0], levels);
    EXPECT_EQ(q[3], 2);
    EXPECT_EQ(q[17], -2);
    EXPECT_EQ(q[5], 0);
    EXPECT_EQ(stats.sum, levels);
    EXPECT_NEAR(stats.residual2, 0.4 * 0.4 + 0.4 * 0.4, 1e-12);
    EXPECT_NEAR(stats.residual_max, 0.4, 1e-12);
    EXPECT_EQ(k.quantise_query(row.data(), centre.data(), 0x1p60, kernels::kSmallestStep, 32, q.data()).norm2 < kernels::kLargestQuantisedNorm2, false);
  }
}

TEST(Quantising, MakesIntegersOfIntegers) {
  for (const CpuKernels* table : tables()) {
    const CpuKernels& k = *table;
    SCOPED_TRACE(k.isa);
    std::vector<double> row(16), centre(16, 3.0);
    for (int t = 0; t < 16; ++t) row[static_cast<std::size_t>(t)] = 3 + (t % 2 == 0 ? t : -t);
    row[0] = 3 + kBaseLevels;
    std::vector<std::int8_t> q(16);
    const kernels::QuantiseStats stats = k.quantise_base(row.data(), centre.data(), 1.0, kernels::kSmallestStep, 16, q.data());
    EXPECT_EQ(stats.residual_max, 0.0);
    for (int t = 1; t < 16; ++t) EXPECT_EQ(q[static_cast<std::size_t>(t)], t % 2 == 0 ? t : -t);
  }
}

TEST(Quantising, KeepsWholeNumbersThatFitWhole) {
  for (const CpuKernels* table : tables()) {
    const CpuKernels& k = *table;
    SCOPED_TRACE(k.isa);
    const double scale = 0x1p-5;
    std::vector<double> row(16, 0.0), centre(16, 3.0);
    for (int t = 0; t < 16; ++t) row[static_cast<std::size_t>(t)] = t % 5;
    std::vector<std::int8_t> q(16);
    for (const auto quantise : {k.quantise_base, k.quantise_query}) {
      const kernels::QuantiseStats stats = quantise(row.data(), centre.data(), scale, scale, 16, q.data());
      EXPECT_EQ(stats.step, static_cast<float>(scale));
      EXPECT_EQ(stats.residual_max, 0.0);
      for (int t = 0; t < 16; ++t) EXPECT_EQ(q[static_cast<std::size_t>(t)], t % 5 - 3);
      EXPECT_LT(quantise(row.data(), centre.data(), scale, kernels::kSmallestStep, 16, q.data()).step, static_cast<float>(scale));
    }
    // One that does not fit makes steps larger, whatever the least.
    row[7] = 1000;
    EXPECT_GT(k.quantise_base(row.data(), centre.data(), scale, scale, 16, q.data()).step, static_cast<float>(scale));
  }
}

/// The largest sum of one sign over a group.
int group_sum(const std::vector<std::int8_t>& q) {
  int most = 0;
  for (std::size_t block = 0; block < q.size(); block += 16) {
    for (const int sign : {1, -1}) {
      int sums[2] = {0, 0};
      for (std::size_t t = 0; t < 16; ++t) sums[t % 4 / 2] += std::max(0, sign * q[block + t]);
      most = std::max({most, sums[0], sums[1]});
    }
  }
  return most;
}

TEST(Quantising, KeepsGroupsOfBaseRowsWithinTheirSum) {
  std::mt19937_64 random(23);
  for (const CpuKernels* table : tables()) {
    const CpuKernels& k = *table;
    SCOPED_TRACE(k.isa);
    for (int trial = 0; trial < 300; ++trial) {
      std::vector<double> row(64), centre(64, 0.0);
      // Equal elements are rounded away from zero together; others are as they come.
      for (double& v : row) v = trial % 3 == 0 ? 1.0 + trial * 0.01 : std::normal_distribution<double>()(random);
      if (trial % 3 == 1) row[static_cast<std::size_t>(trial) % 64] *= 10;
      std::vector<std::int8_t> q(64);
      const kernels::QuantiseStats stats = k.quantise_base(row.data(), centre.data(), 1.0, kernels::kSmallestStep, 64, q.data());
      if (k.int8_group_sum > 0) {
        EXPECT_LE(group_sum(q), k.int8_group_sum);
        EXPECT_LE(2 * k.int8_levels * k.int8_group_sum, 32767);
      }
      for (std::size_t t = 0; t < 64; ++t) EXPECT_LE(std::abs(row[t] - static_cast<double>(stats.step) * q[t]), 0.5000001 * static_cast<double>(stats.step));
    }
  }
}

}  // namespace
}  // namespace tessera::testing
