// SPDX-License-Identifier: Apache-2.0
// Scores of whole numbers: where they say that they are exact they must be, and there must be many such.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "metrics/bound.hpp"
#include "metrics/screened_pairs.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using metrics::PairBound;

constexpr DType kShort[] = {DType::i8, DType::u8, DType::i16, DType::u16};

struct Seen {
  Index pairs = 0;
  Index exact = 0;
};

void check_all(const ScreenedPairs& screened, Seen& seen) {
  for (const ScreenedPair& p : screened.pairs) {
    for (const metrics::RowTerms* base : {&p.base, &p.tile}) {
      const Verdict v = judge(screened.context, p.query, *base, p.score, p.z);
      ASSERT_TRUE(v.bracket_holds && v.threshold_holds) << fmt::format("score {:a}, z {:a}", p.score, static_cast<double>(p.z));
      const PairBound bound(screened.context, p.query, *base);
      const float lower = bound.lower(p.score);
      const float upper = bound.upper(p.score);
      ++seen.pairs;
      if (lower != upper) continue;
      ++seen.exact;
      ASSERT_EQ(static_cast<long double>(lower), p.z) << fmt::format("score {:a}", p.score);
    }
  }
}

/// Whole numbers within `most`, and rows of the largest among them.
Matrix whole_rows(Index rows, Index cols, int most, std::mt19937_64& random) {
  Matrix m = zeros(rows, cols);
  for (double& v : m.values) v = static_cast<double>(static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most);
  for (Index t = 0; t < cols; ++t) {
    m.row(0)[t] = most;
    if (rows > 1) m.row(1)[t] = t % 2 == 0 ? most : -most;
  }
  return m;
}

TEST(WholeNumbers, HaveExactScoresAsFarAsTheySaySo) {
  std::mt19937_64 random(91);
  for (const std::string& isa : isas()) {
    const kernels::CpuKernels& k = kernels_of(isa);
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product}) {
      for (const DType dtype : kShort) {
        for (const Index d : {1, 5, 16, 33, 300}) {
          for (const int most : {3, 60, 127, 255, 4000, 32767}) {
            SCOPED_TRACE(fmt::format("{}, {}, {}, d {}, within {}", isa, name_of(metric), name_of(dtype), d, most));
            const Stored base(whole_rows(9, d, most, random), dtype);
            const Stored queries(whole_rows(5, d, most, random), dtype);
            Seen floats, integers;
            check_all(screen_all(k, metric, true, queries.rows(), base.rows()), floats);
            check_all(screen_all_coarse(Screen::int8, k, metric, queries.rows(), base.rows(), base.rows()), integers);
            // Of rows this small every sum is below 2^24.
            if (most <= 127 && d <= 300) {
              EXPECT_EQ(floats.exact, floats.pairs);
            }
            if (most <= 3) {
              EXPECT_EQ(integers.exact, integers.pairs);
            }
          }
        }
      }
    }
  }
}

/// 16,777,215 - 2 * -4,095 is odd and past 2^24: the score is rounded, whatever the norms say.
TEST(WholeNumbers, AreNotExactPastWhatAFloatHolds) {
  Matrix rows = zeros(3, 16);
  const double long_row[] = {4095, 90, 9, 3};  // its square: 2^24 - 1
  std::copy(std::begin(long_row), std::end(long_row), rows.row(0));
  std::transform(std::begin(long_row), std::end(long_row), rows.row(1), [](double v) { return -v; });  // so that the centre is 0
  Matrix queries = zeros(2, 16);
  queries.row(0)[0] = -1;
  queries.row(1)[0] = 1;
  const Stored base(rows, DType::i16);
  const Stored asked(queries, DType::i16);
  for (const std::string& isa : isas()) {
    const ScreenedPairs screened = screen_all(kernels_of(isa), Metric::sqeuclidean, true, asked.rows(), base.rows());
    ASSERT_EQ(screened.pairs.size(), 6U);
    Index exact = 0;
    for (const ScreenedPair& p : screened.pairs) {
      const long double z = p.z / static_cast<long double>(screened.context.z_scale);
      const PairBound bound(screened.context, p.query, p.tile);
      const bool known = bound.lower(p.score) == bound.upper(p.score);
      EXPECT_EQ(known, z < 16777216) << isa << ", z " << static_cast<double>(z);
      exact += known ? 1 : 0;
    }
    EXPECT_EQ(exact, 4) << isa;
  }
}

TEST(WholeNumbers, AreOfShortIntegersOnBothSides) {
  std::mt19937_64 random(5);
  const Matrix rows = whole_rows(9, 16, 5, random);
  for (const auto& [queries, base] : {std::pair{DType::f32, DType::i8}, std::pair{DType::i8, DType::f32}, std::pair{DType::i32, DType::i8}}) {
    const Stored x(rows, queries);
    const Stored y(rows, base);
    const kernels::CpuKernels& k = kernels_of(isas().back());
    Seen seen;
    check_all(screen_all(k, Metric::sqeuclidean, true, x.rows(), y.rows()), seen);
    check_all(screen_all_coarse(Screen::int8, k, Metric::sqeuclidean, x.rows(), y.rows(), y.rows()), seen);
    EXPECT_EQ(seen.exact, 0) << name_of(queries) << " " << name_of(base);
    EXPECT_GT(seen.pairs, 0);
  }
}

}  // namespace
}  // namespace tessera::testing
