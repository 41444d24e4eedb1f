// SPDX-License-Identifier: Apache-2.0
// Searches among distributions with and without the screen: the same answers, and a screen with half its bound is found out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "contract/ragged.hpp"
#include "engine/session.hpp"
#include "metrics/screened_pairs.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

/// Distributions that hurt a screen: far offsets, clusters, copies, weights, sizes from 1 to 3,000.
std::vector<Sampled> hurtful_distributions(std::mt19937_64& random, int kind, std::size_t count) {
  std::vector<Sampled> all;
  std::uniform_real_distribution<double> spot(-1, 1);
  const double offset[] = {0, 1e8, 1e15, 0, -1e6, 1e12};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t n = kind == 3 ? 1 + i % 3 : i % 10 == 0 ? 1500 + i : 8 + 7 * (i % 40);
    Sampled d{normal(random, n, offset[kind] + (kind == 4 ? 100.0 * static_cast<double>(i % 2) : 0) + spot(random), 0.5 + 0.01 * static_cast<double>(i % 9))};
    if (kind == 1 && i % 4 == 3) d = all[i / 2];  // copies tie
    if (kind == 5) d.values = whole(random, n, 12);
    if (kind == 2 || kind == 5) {
      d.weights = kind == 5 ? whole(random, n, 4) : normal(random, n);
      for (double& w : d.weights) w = std::fabs(w) + 1;
    }
    all.push_back(std::move(d));
  }
  return all;
}

TEST(WassersteinScreen, LosesNoNeighbour) {
  std::mt19937_64 random(12);
  std::int64_t survivors = 0;
  for (int kind = 0; kind < 6; ++kind) {
    const Ragged base(hurtful_distributions(random, kind, 220));
    const Ragged queries(hurtful_distributions(random, kind, 12));
    for (const std::string& isa : isas()) {
      const ForcedIsa forced(isa);
      for (const double p : {1.0, 2.0, 3.0, kInfinity}) {
        if (isa == "scalar" && p != 1) continue;  // fma is software there
        SCOPED_TRACE(fmt::format("kind {}, {}, p {}", kind, isa, p));
        KnnOptions options = order(p, 2);
        options.tile = 48;
        options.screen = Screen::double_precision;
        const Neighbours all = knn(queries.rows(), base.rows(), 5, options);
        EXPECT_EQ(all.report.survivors, 12 * 220);
        options.screen = Screen::fp32_direct;
        const Neighbours screened = knn(queries.rows(), base.rows(), 5, options);
        EXPECT_EQ(screened.report.screen, "fp32-direct");
        EXPECT_EQ(screened.ids, all.ids);
        EXPECT_EQ(screened.distances64, all.distances64);
        if (kind == 0 && p == 1) survivors = screened.report.survivors;
      }
    }
  }
  EXPECT_LT(survivors, 12 * 220 / 3) << "the screen dismisses next to nothing";
}

/// Points, whose sketches are 32 times themselves: two tiles at a distance just above the last row's. The query is rounded up and the last
/// row down on their way into float32, by all that the bound of their score allows.
TEST(WassersteinScreen, IsFoundOutByHalfItsBound) {
  constexpr Index kTile = 48;  // a whole number of panels on every instruction set
  const double query = 1 + 0x1p-12 - kAlmostHalfUlp;
  std::vector<double> base(2 * kTile, 1 + 0x1p-13 + 0.5 * kAlmostHalfUlp);
  base.insert(base.end(), 2, 1 + 0x1p-13 + kAlmostHalfUlp);
  for (std::size_t i = 1; i < base.size(); i += 2) base[i] = -base[i];  // a mean of 0
  const RowSet queries = dense(&query, 1, 1);
  const RowSet rows = dense(base.data(), std::ssize(base), 1);
  for (const std::string& isa : isas()) {
    SCOPED_TRACE(isa);
    const ForcedIsa forced(isa);
    KnnOptions options = order(1);
    options.tile = kTile;
    options.screen = Screen::fp32_direct;
    options.schedule = Schedule::by_query;
    EXPECT_EQ(engine::search_streaming(queries, rows, 1, options, 1).ids[0], 2 * kTile);
    EXPECT_NE(engine::search_streaming(queries, rows, 1, options, 0.5).ids[0], 2 * kTile) << "a broken bound went unnoticed";
  }
}

TEST(WassersteinScreen, KeepsTies) {
  std::mt19937_64 random(13);
  std::vector<double> x = normal(random, 200);
  for (double& v : x) v = std::ldexp(std::nearbyint(std::ldexp(v, 20)), -20);  // shifts are exact
  std::vector<Sampled> all;
  for (int i = 0; i < 150; ++i) {  // 0.75 away to either side, in another order each; every seventh is nearer by the last bits
    Sampled d{x};
    for (double& v : d.values) v += (i % 2 == 0 ? 0.75 : -0.75) * (i % 7 == 3 ? 1 - 0x1p-20 : 1);
    std::shuffle(d.values.begin(), d.values.end(), random);
    all.push_back(std::move(d));
  }
  const Ragged base(all);
  const Ragged query({{x}});
  for (const std::string& isa : isas()) {
    const ForcedIsa forced(isa);
    for (const double p : {1.0, 2.0, kInfinity}) {
      for (const Index k : {5, 21, 22, 60}) {
        KnnOptions options = order(p);
        options.tile = 48;
        options.screen = Screen::fp32_direct;
        const Neighbours got = knn(query.rows(), base.rows(), k, options);
        std::vector<std::int64_t> want;
        for (const bool near : {true, false}) {
          for (std::int64_t i = 0; i < 150; ++i) {
            if ((i % 7 == 3) == near && std::ssize(want) < k) want.push_back(i);
          }
        }
        EXPECT_EQ(got.ids, want) << isa << ", p " << p << ", k " << k;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
