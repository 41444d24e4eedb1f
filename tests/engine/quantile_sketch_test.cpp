// SPDX-License-Identifier: Apache-2.0
// Block means against long double, and the bound they prove, also where it is attained.
#include "engine/quantile_sketch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/quantile_pairs.hpp"
#include "engine/registry.hpp"
#include "engine/workers.hpp"
#include "prepare/distributions.hpp"

namespace tessera::testing {
namespace {

using engine::kCoarseBlocks;
using engine::kFineBlocks;

std::unique_ptr<core::Distributions> sorted(const RowSet& rows) {
  const auto executor = engine::make_executor(1);
  return prepare::sort_distributions(engine::select_kernels(), rows, {0, rows.rows}, NanPolicy::error, "base", *executor);
}

std::vector<double> normal(std::mt19937_64& random, Index n, double mean) {
  std::normal_distribution<double> draw(mean, 1);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& v : x) v = draw(random);
  return x;
}

TEST(BlockMeans, AreWithinTheirErrorAtAnyOffset) {
  std::mt19937_64 random(1);
  for (const double offset : {0.0, 1e3, 1e8, 1e16}) {
    for (const Index n : {1, 5, 32, 100, 257, 4000}) {
      for (const Index blocks : {kCoarseBlocks, kFineBlocks}) {
        const std::vector<double> x = normal(random, n, offset);
        const auto set = sorted(dense(x.data(), 1, n));
        const auto* values = static_cast<const double*>(set->rows[0].values);
        std::vector<double> means(static_cast<std::size_t>(blocks));
        const double error = engine::block_means(set->rows[0], blocks, means.data());
        double worst = 0;
        for (Index k = 0; k < blocks; ++k) {
          // In units of 1 / (n blocks): sample i covers [i blocks, (i + 1) blocks), block k [k n, (k + 1) n).
          long double sum = 0;
          for (Index i = k * n / blocks; i < n && i * blocks < (k + 1) * n; ++i) {
            const Index overlap = std::min((i + 1) * blocks, (k + 1) * n) - std::max(i * blocks, k * n);
            sum += static_cast<long double>(overlap) * static_cast<long double>(values[i]);
          }
          worst = std::max(worst, static_cast<double>(std::fabs(sum / static_cast<long double>(n) - static_cast<long double>(means[static_cast<std::size_t>(k)]))));
        }
        EXPECT_LE(worst, error) << offset << " " << n << " " << blocks;
      }
    }
  }
}

/// A pair that only differs by a shift attains the bound: W_p is the shift for every p, and so is the sketch.
TEST(LargestSketch, IsAttainedByAShiftAndNotMuchWider) {
  std::mt19937_64 random(2);
  for (const double p : {1.0, 2.0, 7.5, std::numeric_limits<double>::infinity()}) {
    for (const Index blocks : {kCoarseBlocks, kFineBlocks}) {
      for (const Index n : {3, 64, 1000}) {
        std::vector<double> x = normal(random, n, 0);
        for (double& v : x) v = std::ldexp(std::nearbyint(std::ldexp(v, 20)), -20);  // the shift is exact
        std::vector<double> both = x;
        for (const double v : x) both.push_back(v + 0.75);
        const auto set = sorted(dense(both.data(), 2, n));
        std::vector<double> a(static_cast<std::size_t>(blocks)), b(static_cast<std::size_t>(blocks));
        const auto terms_a = engine::sketch_terms(set->rows[0], engine::block_means(set->rows[0], blocks, a.data()));
        const auto terms_b = engine::sketch_terms(set->rows[1], engine::block_means(set->rows[1], blocks, b.data()));
        double sum = 0;
        for (std::size_t k = 0; k < a.size(); ++k) sum += std::fabs(a[k] - b[k]);
        engine::QuantilePairs pairs(engine::select_kernels(), {.metric = Metric::wasserstein, .p = p});
        const double distance = pairs.distance(set->rows[0], set->rows[1]);
        EXPECT_LE(sum, engine::largest_sketch(distance, p, blocks, terms_a, terms_b));
        EXPECT_GT(sum * (1 + 1e-9), engine::largest_sketch(distance, p, blocks, terms_a, terms_b)) << "the bound is wider than it need be";
        EXPECT_GT(sum, engine::largest_sketch(distance * (1 - 1e-9), p, blocks, terms_a, terms_b)) << "nothing would be dismissed";
      }
    }
  }
}

/// The sum of a pair's sketch, in long double so that only the means are rounded.
double sketch_sum(const core::Distribution& a, const core::Distribution& b, Index blocks, engine::SketchTerms& terms_a, engine::SketchTerms& terms_b) {
  std::vector<double> x(static_cast<std::size_t>(blocks)), y(static_cast<std::size_t>(blocks));
  terms_a = engine::sketch_terms(a, engine::block_means(a, blocks, x.data()));
  terms_b = engine::sketch_terms(b, engine::block_means(b, blocks, y.data()));
  long double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += std::fabs(static_cast<long double>(x[k]) - y[k]);
  return static_cast<double>(sum);
}

/// Every sample twice is the same distribution, at distance 0, but its means are rounded elsewhere.
TEST(LargestSketch, NeedsTheRoundingOfTheMeans) {
  std::mt19937_64 random(3);
  int broken = 0;
  for (const double offset : {1e3, 1e8, 1e16}) {
    for (const Index n : {33, 100, 1001}) {
      for (const Index blocks : {kCoarseBlocks, kFineBlocks}) {
        const std::vector<double> x = normal(random, n, offset);
        std::vector<double> twice;
        for (const double v : x) twice.insert(twice.end(), {v, v});
        const auto a = sorted(dense(x.data(), 1, n));
        const auto b = sorted(dense(twice.data(), 1, 2 * n));
        engine::QuantilePairs pairs(engine::select_kernels(), {.metric = Metric::wasserstein});
        ASSERT_EQ(pairs.distance(a->rows[0], b->rows[0]), 0);
        engine::SketchTerms terms_a, terms_b;
        const double sum = sketch_sum(a->rows[0], b->rows[0], blocks, terms_a, terms_b);
        EXPECT_LE(sum, engine::largest_sketch(0, 1, blocks, terms_a, terms_b)) << offset << " " << n << " " << blocks;
        terms_a.error = terms_b.error = 0;
        broken += sum > engine::largest_sketch(0, 1, blocks, terms_a, terms_b) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(broken, 9) << "the test would not notice a bound without the means' rounding";
}

TEST(LargestSketch, HoldsForPairsOfEveryKind) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> weight(1e-3, 1);
  for (const double offset : {0.0, 1e8, 1e15}) {
    for (const double gap : {0.0, 1e-12, 0.5}) {
      for (int kind = 0; kind < 4; ++kind) {  // which of the two is weighted
        for (const Index m : {50, 77, 640}) {
          std::vector<double> x = normal(random, 50, offset);
          const std::vector<double> y = m == 50 ? x : normal(random, m, offset);
          x[7] += gap;
          std::vector<double> wx(x.size(), 1), wy(y.size(), 1);
          for (double& w : wx) w = (kind & 1) != 0 ? weight(random) : 1;
          for (double& w : wy) w = (kind & 2) != 0 ? weight(random) : 1;
          const auto a = sorted(weighted(dense(x.data(), 1, 50), wx.data(), DType::f64));
          const auto b = sorted(weighted(dense(y.data(), 1, m), wy.data(), DType::f64));
          for (const double p : {1.0, 2.0, 3.5, std::numeric_limits<double>::infinity()}) {
            engine::QuantilePairs pairs(engine::select_kernels(), {.metric = Metric::wasserstein, .p = p});
            const double distance = pairs.distance(a->rows[0], b->rows[0]);
            for (const Index blocks : {kCoarseBlocks, kFineBlocks}) {
              engine::SketchTerms terms_a, terms_b;
              const double sum = sketch_sum(a->rows[0], b->rows[0], blocks, terms_a, terms_b);
              EXPECT_LE(sum, engine::largest_sketch(distance, p, blocks, terms_a, terms_b)) << offset << " " << gap << " " << kind << " " << m << " " << p;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
