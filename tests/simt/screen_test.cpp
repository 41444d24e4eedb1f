// SPDX-License-Identifier: Apache-2.0
// Kernel A against plain loops that sum in the same order: every score to the last bit, and exactly the hits that there must be.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "simt/run_kernel.hpp"

namespace tessera::simt_shim {
namespace {

using cuda::KernelId;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float score(KernelId kernel, const ScreenProblem& p, unsigned r, unsigned c, float factor) {
  float acc = 0;
  for (unsigned t = 0; t < p.depth; ++t) {
    const float x = p.queries[std::size_t{r} * p.depth + t];
    const float y = p.base[std::size_t{c} * p.depth + t];
    const float difference = x - y;
    switch (kernel) {
      case KernelId::screen_product: acc = std::fma(x, y, acc); break;
      case KernelId::screen_squared: acc = std::fma(difference, difference, acc); break;
      case KernelId::screen_absolute: acc = acc + std::abs(difference); break;
      default: acc = std::isnan(acc) || std::isnan(difference) ? kNan : std::max(acc, std::abs(difference)); break;
    }
  }
  return kernel == KernelId::screen_product ? p.bias[c] - factor * acc : acc;
}

struct Expected {
  std::vector<SeenHit> hits;
  std::vector<std::uint32_t> counts;
};

Expected expected(KernelId kernel, const ScreenProblem& p, float factor) {
  Expected all{{}, std::vector<std::uint32_t>(p.rows)};
  for (unsigned r = 0; r < p.rows; ++r) {
    if (p.thresholds[r] == -kInfinity) continue;
    for (unsigned c = 0; c < p.columns; ++c) {
      const float s = score(kernel, p, r, c, factor);
      if (s > p.thresholds[r] || c == p.own[r]) continue;
      all.hits.emplace_back(r, c, s);
      ++all.counts[r];
    }
  }
  return all;
}

class ScreenKernel : public ::testing::TestWithParam<std::tuple<KernelId, unsigned, unsigned>> {};

TEST_P(ScreenKernel, FindsExactlyTheHits) {
  const auto [kernel, columns, depth] = GetParam();
  configure({.seed = 100 + columns + depth});
  ScreenProblem p(columns == 300 ? 2 : 1, columns, depth, columns * 100 + depth);
  for (unsigned r = 0; r < p.rows; ++r) {
    p.thresholds[r] = r % 11 == 0 ? -kInfinity : r % 13 == 0 ? kInfinity : (kernel == KernelId::screen_product ? -0.5f : 1.0f) * std::sqrt(static_cast<float>(depth));
    p.own[r] = r % 3 == 0 ? (7 * r) % columns : cuda::kNoPosition;
  }
  const Expected want = expected(kernel, p, 2);
  const ScreenOutcome got = run_screen(kernel, p, 2, 512);
  EXPECT_EQ(got.counts, want.counts);
  EXPECT_EQ(got.hits, want.hits);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScreenKernel,
                         ::testing::Combine(::testing::Values(KernelId::screen_squared, KernelId::screen_product, KernelId::screen_absolute, KernelId::screen_maximum),
                                            ::testing::Values(1u, 127u, 128u, 300u), ::testing::Values(1u, 3u, 8u, 9u, 25u, 40u)),
                         [](const auto& p) {
                           return fmt::format("kernel{}_columns{}_depth{}", static_cast<int>(std::get<0>(p.param)), std::get<1>(p.param), std::get<2>(p.param));
                         });

TEST(ScreenKernels, LetRowsWithoutABoundSurvive) {
  for (const KernelId kernel : {KernelId::screen_squared, KernelId::screen_product, KernelId::screen_absolute, KernelId::screen_maximum}) {
    ScreenProblem p(1, 130, 9, 5);
    for (unsigned r = 0; r < p.rows; ++r) p.thresholds[r] = r < 2 ? -1e30f : r == 2 ? -kInfinity : -1e20f;
    std::fill_n(p.base.begin() + 9 * 129, 9, kNan);
    std::fill_n(p.queries.begin() + 9 * 5, 9, kNan);
    const ScreenOutcome got = run_screen(kernel, p, 2, 256);
    for (unsigned r = 0; r < p.rows; ++r) EXPECT_EQ(got.counts[r], r == 2 ? 0u : r == 5 ? 130u : 1u) << "kernel " << static_cast<int>(kernel) << ", row " << r;
  }
}

TEST(ScreenKernels, CountTheHitsThatFindNoRoom) {
  ScreenProblem p(1, 200, 3, 6);
  std::fill(p.thresholds.begin(), p.thresholds.end(), kInfinity);
  const ScreenOutcome got = run_screen(KernelId::screen_squared, p, 2, 128);
  for (unsigned r = 0; r < p.rows; ++r) EXPECT_EQ(got.counts[r], 200u);
  EXPECT_EQ(got.hits.size(), std::size_t{128} * p.rows);
  // Those that did find room are whole, and none is there twice.
  const Expected all = expected(KernelId::screen_squared, p, 2);
  EXPECT_TRUE(std::ranges::includes(all.hits, got.hits));
}

}  // namespace
}  // namespace tessera::simt_shim
