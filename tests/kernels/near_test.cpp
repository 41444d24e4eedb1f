// SPDX-License-Identifier: Apache-2.0
// Kernels of near blocks against plain loops, on every instruction set: lists lose nothing, thresholds are never too low, sums have the canonical bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/cpu/contract.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using metrics::Element;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Element kElements[] = {Element::squared_difference, Element::absolute_difference, Element::maximum_difference};
constexpr Index kStride = 256;

/// Lists of one panel, and what they are made of.
struct Lists {
  explicit Lists(Index rows) : scores(static_cast<std::size_t>(rows * kStride)), positions(scores.size()), counts(static_cast<std::size_t>(rows), 0) {}
  kernels::NearLists view() { return {scores.data(), positions.data(), counts.data(), kStride}; }
  std::vector<float> scores;
  std::vector<std::uint32_t> positions;
  std::vector<std::int32_t> counts;
};

class Near : public ::testing::TestWithParam<std::string> {
 protected:
  const kernels::CpuKernels& kernels_ = kernels_of(GetParam());
};

TEST_P(Near, ScreensKeepExactlyWhatIsNotPastTheThreshold) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  const Index width = kernels_.panel_cols;
  const Index rows = kernels_.panel_rows;
  for (const Element element : kElements) {
    for (const Index d : {1, 2, 3, 6}) {
      for (int round = 0; round < 20; ++round) {
        const Index columns = 1 + static_cast<Index>(random() % static_cast<std::uint64_t>(3 * width));
        const Index panels = (columns + width - 1) / width;
        std::vector<float> query(static_cast<std::size_t>(d * rows)), base(static_cast<std::size_t>(panels * d * width));
        for (float& v : query) v = normal(random);
        for (float& v : base) v = normal(random);
        std::vector<float> thresholds(static_cast<std::size_t>(rows));
        for (float& t : thresholds) t = random() % 4 == 0 ? -kInfinity : random() % 4 == 0 ? kInfinity : 2 * std::abs(normal(random));
        Lists lists(rows);
        const kernels::NearCall call{.screen = {.query = query.data(), .base = base.data(), .bias = nullptr, .thresholds = thresholds.data(), .lists = nullptr, .depth = d,
                                                .first_panel = 0, .last_panel = panels, .capacity = 0, .factor = 1},
                                     .lists = lists.view(), .columns = columns};
        const std::int32_t longest = kernels_.near.screen(element)(call);
        std::int32_t most = 0;
        for (Index r = 0; r < rows; ++r) {
          std::vector<float> minima(static_cast<std::size_t>(rows * width));
          std::int32_t at = 0;
          for (Index p = 0; p < panels; ++p) {
            std::ranges::fill(minima, kInfinity);  // of one panel: its scores
            kernels::ScreenCall one = call.screen;
            one.first_panel = p;
            one.last_panel = p + 1;
            kernels_.screen(element, false, rows).seed(one, minima.data());
            for (Index j = 0; j < std::min(width, columns - p * width); ++j) {
              const float score = minima[static_cast<std::size_t>(r * width + j)];
              if (score > thresholds[static_cast<std::size_t>(r)]) continue;
              ASSERT_LT(at, lists.counts[static_cast<std::size_t>(r)]);
              const auto slot = static_cast<std::size_t>(r * kStride + at++);
              ASSERT_EQ(lists.positions[slot], static_cast<std::uint32_t>(p * width + j));
              ASSERT_EQ(lists.scores[slot], score);
            }
          }
          ASSERT_EQ(at, lists.counts[static_cast<std::size_t>(r)]);
          most = std::max(most, at);
        }
        ASSERT_EQ(longest, most);
      }
    }
  }
}

TEST_P(Near, ThresholdsCoverTheWantedSmallestAndLittleMore) {
  std::mt19937_64 random(2);
  Index kept_in_all = 0, wanted_in_all = 0;
  for (int round = 0; round < 2000; ++round) {
    Lists lists(1);
    const auto count = static_cast<std::int32_t>(random() % 200);
    const auto wanted = static_cast<std::int32_t>(1 + random() % 40);
    const int kind = round % 4;  // smooth, lumpy, mostly ties, all equal
    for (std::int32_t i = 0; i < count; ++i) {
      const auto x = static_cast<float>(random() % 100000 + 1) * 1e-5f;
      lists.scores[static_cast<std::size_t>(i)] = kind == 0 ? std::pow(x, 0.667f) : kind == 1 ? std::exp(40 * x) : kind == 2 ? static_cast<float>(random() % 4) : 0.25f;
      lists.positions[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(7 * i);
    }
    lists.counts[0] = count;
    const Lists before = lists;
    const metrics::ThresholdLine line{.slope = 1 + 0x1p-20f, .offset = 0x1p-30f, .cap = kInfinity};
    float threshold = kInfinity;
    const std::int64_t dropped = kernels_.near.tighten(lists.view(), &threshold, 1, wanted, 0, line);
    std::vector<float> sorted(before.scores.begin(), before.scores.begin() + count);
    std::ranges::sort(sorted);
    if (count < wanted) {
      ASSERT_EQ(threshold, kInfinity);
      ASSERT_EQ(lists.counts[0], before.counts[0]);
      continue;
    }
    const float kth = sorted[static_cast<std::size_t>(wanted - 1)];
    ASSERT_GE(threshold, kth * line.slope);
    std::int32_t at = 0;
    for (std::int32_t i = 0; i < count; ++i) {
      if (before.scores[static_cast<std::size_t>(i)] > threshold) continue;
      ASSERT_EQ(lists.scores[static_cast<std::size_t>(at)], before.scores[static_cast<std::size_t>(i)]);
      ASSERT_EQ(lists.positions[static_cast<std::size_t>(at++)], before.positions[static_cast<std::size_t>(i)]);
    }
    ASSERT_EQ(lists.counts[0], at);
    ASSERT_EQ(dropped, count - at);
    if (kind == 0) {
      kept_in_all += at;
      wanted_in_all += wanted;
    }
  }
  EXPECT_LT(static_cast<double>(kept_in_all), 1.4 * static_cast<double>(wanted_in_all));
}

TEST_P(Near, ThresholdsNeverRiseAndGoToInfinityAtTheCap) {
  Lists lists(2);
  for (std::size_t r = 0; r < 2; ++r) {
    lists.counts[r] = 20;
    for (std::size_t i = 0; i < 20; ++i) lists.scores[r * kStride + i] = static_cast<float>(i + 1);
  }
  float thresholds[2] = {3, kInfinity};
  kernels_.near.tighten(lists.view(), thresholds, 2, 10, 10, {.slope = 1, .offset = 0, .cap = 9});
  EXPECT_EQ(thresholds[0], 3);
  EXPECT_EQ(lists.counts[0], 3);
  EXPECT_EQ(thresholds[1], kInfinity);
  EXPECT_EQ(lists.counts[1], 20);
}

TEST_P(Near, GatheredSumsHaveTheCanonicalBits) {
  std::mt19937_64 random(3);
  for (int n = 0; n < kHurtfulCount; ++n) {
    for (Index d = 1; d <= kernels::kMostGathered; ++d) {
      const Matrix m = hurtful(n, 60, d, random);
      std::vector<double> rows(static_cast<std::size_t>(60 * 8), 0.0);
      for (Index i = 0; i < 60; ++i) std::copy_n(m.row(i), d, rows.data() + 8 * i);
      const auto count = static_cast<Index>(random() % 50);
      std::vector<std::uint32_t> positions(static_cast<std::size_t>(count));
      for (std::uint32_t& p : positions) p = static_cast<std::uint32_t>(random() % 60);
      std::vector<double> sums(64);
      for (const Element element : kElements) {
        kernels_.near.sums(element)(rows.data(), rows.data(), 8, d, positions.data(), count, sums.data());
        for (Index i = 0; i < count; ++i) {
          double x[16] = {}, y[16] = {};
          std::copy_n(rows.data(), d, x);
          std::copy_n(rows.data() + 8 * Index{positions[static_cast<std::size_t>(i)]}, d, y);
          const double want = kernels_.canonical[static_cast<int>(element)](x, y, 16);
          ASSERT_EQ(std::bit_cast<std::uint64_t>(sums[static_cast<std::size_t>(i)]), std::bit_cast<std::uint64_t>(want)) << "d " << d << ", data " << n;
        }
      }
    }
  }
}

TEST_P(Near, RanksSortAndTiesAreOwnedUpTo) {
  std::mt19937_64 random(4);
  double keys[kernels::kMostRanked];
  std::int64_t ranks[kernels::kMostRanked];
  for (Index count = 0; count <= kernels::kMostRanked; ++count) {
    for (Index i = 0; i < count; ++i) keys[i] = static_cast<double>(random());
    const std::vector<double> before(keys, keys + count);
    ASSERT_TRUE(kernels_.near.rank(keys, count, ranks));
    for (Index i = 0; i < count; ++i) ASSERT_EQ(ranks[i], std::ranges::count_if(before, [&](double key) { return key < before[static_cast<std::size_t>(i)]; }));
    if (count < 2) continue;
    std::ranges::copy(before, keys);
    keys[count - 1] = keys[0];
    ASSERT_FALSE(kernels_.near.rank(keys, count, ranks));
    keys[count - 1] = std::numeric_limits<double>::quiet_NaN();
    ASSERT_FALSE(kernels_.near.rank(keys, count, ranks));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Near, ::testing::ValuesIn(isas()), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace tessera::testing
