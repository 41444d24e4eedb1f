// SPDX-License-Identifier: Apache-2.0
// Searches of short integers: the oracle's bits, and no row read again where every score is exact.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

constexpr Index kRows = 400;
constexpr Index kQueries = 17;

Matrix whole_rows(Index rows, Index cols, int low, int high, std::mt19937_64& random) {
  Matrix m = zeros(rows, cols);
  for (double& v : m.values) v = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  return m;
}

class WholeSearch : public ::testing::TestWithParam<Metric> {};

TEST_P(WholeSearch, ReadsNoRowAgain) {
  struct Range {
    DType dtype;
    int low, high;
  };
  std::mt19937_64 random(17);
  for (const auto& [dtype, low, high] : {Range{DType::u8, 0, 2}, Range{DType::u8, 0, 250}, Range{DType::i8, -3, 3}, Range{DType::i8, -128, 127}, Range{DType::u16, 0, 500}}) {
    for (const Index d : {20, 100}) {
      const Stored base(whole_rows(kRows, d, low, high, random), dtype);
      const Stored queries(whole_rows(kQueries, d, low, high, random), dtype);
      const oracle::Answer want = oracle::knn(queries.rows(), base.rows(), {.metric = GetParam(), .k = 12});
      for (const std::string& isa : isas()) {
        for (const Screen screen : {Screen::fp32_dot, Screen::int8, Screen::automatic}) {
          SCOPED_TRACE(fmt::format("{}, {}, {} to {}, d {}, {}", isa, name_of(dtype), low, high, d, name_of(screen)));
          const ForcedIsa forced(isa);
          const Neighbours got = knn(queries.rows(), base.rows(), 12, {.metric = {GetParam()}, .screen = screen, .threads = 2});
          EXPECT_TRUE(same_bits(got, want));
          EXPECT_GT(got.report.survivors, 0);
          const bool fits = high - low < 10 || (isa == "scalar" && GetParam() != Metric::inner_product && high < 500 && high - low <= 250);
          if (screen != Screen::int8 || fits) {
            EXPECT_EQ(got.report.refined, 0);
          }
          // Queries of another type are computed as ever.
          const Stored floats(whole_rows(3, d, low, high, random), DType::f32);
          const oracle::Answer other = oracle::knn(floats.rows(), base.rows(), {.metric = GetParam(), .k = 12});
          EXPECT_TRUE(same_bits(knn(floats.rows(), base.rows(), 12, {.metric = {GetParam()}, .screen = screen}), other));
        }
      }
    }
  }
}

/// Products past 2^24: some scores are exact, others are not, and a list holds both.
TEST_P(WholeSearch, MixesExactScoresWithOthers) {
  std::mt19937_64 random(18);
  for (const DType dtype : {DType::i16, DType::u16}) {
    Matrix rows = whole_rows(kRows, 24, dtype == DType::i16 ? -900 : 0, 900, random);
    for (Index i = 0; i < kRows; i += 3) rows.row(i)[i % 24] *= 30;
    const Stored base(rows, dtype);
    const RowSet queries = slice(base.rows(), 40, 40 + kQueries);
    const oracle::Answer want = oracle::knn(queries, base.rows(), {.metric = GetParam(), .k = 40});
    for (const std::string& isa : isas()) {
      const ForcedIsa forced(isa);
      for (const Screen screen : {Screen::fp32_dot, Screen::int8}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", isa, name_of(dtype), name_of(screen)));
        EXPECT_TRUE(same_bits(knn(queries, base.rows(), 40, {.metric = {GetParam()}, .screen = screen, .tile = 48}), want));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, WholeSearch, ::testing::Values(Metric::l2, Metric::sqeuclidean, Metric::inner_product),
                         [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace tessera::testing
