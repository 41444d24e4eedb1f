// SPDX-License-Identifier: Apache-2.0
// A filtered search answers as the whole list would without the rows left out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/metrics.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

constexpr std::uint64_t kSeed = 8128;
constexpr Index kBaseRows = 230, kFirst = 40, kNeighbours = 9;

/// The first k allowed entries of lists as long as the base.
oracle::Answer without(const oracle::Answer& whole, const std::vector<char>& allowed, Index first_id, Index k, Metric metric) {
  const auto length = static_cast<std::size_t>(whole.k);
  oracle::Answer out{.k = k, .ids = {}, .distances = {}};
  for (std::size_t at = 0; at < whole.ids.size(); at += length) {
    Index left = k;
    for (std::size_t j = at; j < at + length && left > 0; ++j) {
      if (whole.ids[j] < 0 || allowed[static_cast<std::size_t>(whole.ids[j] - first_id)] == 0) continue;
      out.ids.push_back(whole.ids[j]);
      out.distances.push_back(whole.distances[j]);
      --left;
    }
    const double infinity = std::numeric_limits<double>::infinity();
    out.ids.insert(out.ids.end(), static_cast<std::size_t>(left), -1);
    out.distances.insert(out.distances.end(), static_cast<std::size_t>(left), metric == Metric::inner_product ? -infinity : infinity);
  }
  return out;
}

struct Choice {
  RowFilter filter;
  std::vector<char> allowed;  // [rows]
};

Choice choose_rows(bool allow, double share, const RowSet& base, std::mt19937_64& random) {
  Choice c{.filter = {.kind = allow ? RowFilter::Kind::allow : RowFilter::Kind::deny, .ids = {}}, .allowed = {}};
  for (Index i = 0; i < base.rows; ++i) {
    const bool in = std::uniform_real_distribution<double>()(random) < share;
    c.allowed.push_back(in ? 1 : 0);
    if (in == allow) c.filter.ids.insert(c.filter.ids.end(), i % 7 == 0 ? 2 : 1, base.first_id + i);  // some twice
  }
  std::ranges::shuffle(c.filter.ids, random);
  return c;
}

class Filter : public ::testing::TestWithParam<Metric> {};

TEST_P(Filter, LeavesRowsOutAsIfTheyWereNotThere) {
  std::mt19937_64 random(kSeed);
  for (const Kind kind : {Kind::normal, Kind::small_integers, Kind::zero_rows}) {
    for (const Index d : {3, 70}) {
      Matrix points = make(kind, kBaseRows + kFirst, d, random);
      points.row(kFirst + 11)[0] = std::numeric_limits<double>::quiet_NaN();
      const RowSet base = slice(points.view(), kFirst, kFirst + kBaseRows);
      const Matrix others = make(kind, 21, d, random);
      for (const SelfMode self : {SelfMode::none, SelfMode::natural, SelfMode::exclude, SelfMode::first}) {
        const RowSet queries = self == SelfMode::none ? others.view() : base;
        const oracle::Answer whole = oracle::knn(queries, base, {.metric = GetParam(), .self = self, .skip_nan = true, .k = kBaseRows});
        for (const double share : {0.0, 0.02, 0.5, 1.0}) {
          const Choice choice = choose_rows(random() % 2 == 0, share, base, random);
          const oracle::Answer want = without(whole, choice.allowed, base.first_id, kNeighbours, GetParam());
          KnnOptions options{.metric = {GetParam()}, .self = self, .nan = NanPolicy::skip, .filter = choice.filter, .distances = DistanceType::float64};
          for (const Screen screen : {Screen::automatic, Screen::double_precision, Screen::int8}) {
            for (const std::uint64_t memory : {0, 60000}) {
              if (screen == Screen::int8 && (GetParam() == Metric::l1 || GetParam() == Metric::linf)) continue;
              options.screen = screen;
              options.memory = memory;
              options.tile = memory > 0 ? 48 : 0;
              SCOPED_TRACE(fmt::format("{}, d {}, self {}, share {}, {}, memory {}", name_of(kind), d, name_of(self), share, name_of(screen), memory));
              const Neighbours got = knn(queries, base, kNeighbours, options);
              EXPECT_TRUE(same_bits(got, want));
              EXPECT_EQ(got.report.denied_base, std::ranges::count(choice.allowed, 0));
            }
          }
        }
      }
    }
  }
}

TEST_P(Filter, HoldsUnderPruningAndForAPreparedBase) {
  std::mt19937_64 random(kSeed);
  const Matrix points = make(Kind::normal, 3000, 3, random);
  const RowSet base = points.view();
  const RowSet queries = slice(base, 100, 160);
  const oracle::Answer whole = oracle::knn(queries, base, {.metric = GetParam(), .self = SelfMode::exclude, .k = base.rows});
  const Choice choice = choose_rows(true, 0.3, base, random);
  const KnnOptions options{.metric = {GetParam()}, .self = SelfMode::exclude, .filter = choice.filter, .distances = DistanceType::float64};
  const oracle::Answer want = without(whole, choice.allowed, 0, kNeighbours, GetParam());
  EXPECT_TRUE(same_bits(knn(queries, base, kNeighbours, options), want));
  const PreparedBase prepared(base, options);
  EXPECT_TRUE(same_bits(prepared.search(queries, kNeighbours), want));
  KnnOptions other = options;
  other.filter.kind = RowFilter::Kind::deny;
  EXPECT_THROW(prepared.search(queries, kNeighbours, other), Error);
}

TEST(FilterIds, MustBeRowsOfTheBase) {
  std::mt19937_64 random(kSeed);
  const Matrix points = make(Kind::normal, 20, 4, random);
  const RowSet base = slice(points.view(), 5, 20);
  for (const Index id : {Index{-1}, Index{4}, Index{20}}) {
    const KnnOptions options{.filter = {.kind = RowFilter::Kind::allow, .ids = {7, id}}};
    try {
      knn(base, base, 3, options);
      FAIL() << id;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(e.what()).find(fmt::format("id {}", id)), std::string::npos) << e.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, Filter, ::testing::Values(Metric::l2, Metric::inner_product, Metric::cosine, Metric::l1, Metric::linf),
                         [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace tessera::testing
