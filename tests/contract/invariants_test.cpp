// SPDX-License-Identifier: Apache-2.0
// What must hold between answers, whatever the right one is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "contract/pairwise.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/metrics.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

constexpr std::uint64_t kSeed = 4711;
constexpr Kind kKinds[] = {Kind::normal, Kind::small_integers, Kind::duplicates, Kind::huge_offset, Kind::zero_rows, Kind::mixed_scales};

KnnOptions wide(Metric metric) { return {.metric = {metric}, .distances = DistanceType::float64}; }

/// A base of one kind and queries of which every other one is a base row.
struct Sets {
  Matrix base;
  Matrix queries;

  Sets(Kind kind, Index nb, Index nq, Index d) {
    std::mt19937_64 random(kSeed);
    base = make(kind, nb, d, random);
    queries = make(kind, nq, d, random);
    for (Index i = 0; i < nq; i += 2) std::copy_n(base.row((5 * i) % nb), d, queries.row(i));
  }
};

class Invariant : public ::testing::TestWithParam<Metric> {
 protected:
  Metric metric() const { return GetParam(); }
};

TEST_P(Invariant, ShorterListsArePrefixesOfLongerOnes) {
  for (const Kind kind : kKinds) {
    const Sets sets(kind, 300, 20, 24);
    const Neighbours longest = knn(sets.queries.view(), sets.base.view(), 320, wide(metric()));
    for (const Index k : {1, 2, 9, 64, 299, 300, 301}) {
      const Neighbours shorter = knn(sets.queries.view(), sets.base.view(), k, wide(metric()));
      for (Index q = 0; q < 20; ++q) {
        for (Index j = 0; j < k; ++j) {
          const auto s = static_cast<std::size_t>(q * k + j);
          const auto l = static_cast<std::size_t>(q * 320 + j);
          ASSERT_EQ(shorter.ids[s], longest.ids[l]) << name_of(kind) << ", k " << k << ", query " << q << ", entry " << j;
          ASSERT_EQ(shorter.distances64[s], longest.distances64[l]);
        }
      }
    }
  }
}

/// A dozen plans in which every two choices of screen, schedule, threads, memory budget and tile meet; returns how many calls were
/// streamed.
Index compare_plans(const RowSet& queries, const RowSet& base, Index k, KnnOptions options, const Neighbours& want, std::uint64_t seed) {
  constexpr Screen kScreens[] = {Screen::automatic, Screen::fp32_direct, Screen::fp32_dot, Screen::double_precision, Screen::int8, Screen::bf16};
  constexpr Schedule kSchedules[] = {Schedule::by_query, Schedule::by_base};
  constexpr std::uint64_t kMemory[] = {0, 16000, 60000};
  constexpr Index kTiles[] = {48, 96, 1000};
  constexpr Pruning kPrunings[] = {Pruning::off, Pruning::on};
  Index streamed = 0;
  for (const std::vector<int>& at : pairwise({static_cast<int>(std::size(kScreens)), 2, 3, 3, 3, 2}, seed)) {
    options.screen = kScreens[at[0]];
    options.schedule = kSchedules[at[1]];
    options.threads = at[2] + 1;
    options.memory = kMemory[at[3]];
    options.prune = kPrunings[at[5]];
    options.tile = options.memory == 0 ? kTiles[at[4]] : 48;
    SCOPED_TRACE(fmt::format("{}, {}, threads {}, memory {}, tile {}, prune {}", name_of(options.screen), name_of(options.schedule), options.threads, options.memory, options.tile, name_of(options.prune)));
    try {
      const Neighbours got = knn(queries, base, k, options);
      EXPECT_TRUE(same_bits(got, want));
      streamed += got.report.segments > 1 ? 1 : 0;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported) << e.what();  // this metric has no such screen
    }
  }
  return streamed;
}

TEST_P(Invariant, EveryPlanGivesTheSameBytes) {
  constexpr Index kNeighbours = 7;
  std::uint64_t seed = kSeed;
  for (const SelfMode self : {SelfMode::none, SelfMode::exclude, SelfMode::first, SelfMode::natural}) {
    const Sets sets(self == SelfMode::none ? Kind::huge_offset : Kind::zero_rows, 500, 40, 20);
    const RowSet base = sets.base.view();
    const RowSet queries = self == SelfMode::none ? sets.queries.view() : slice(base, 230, 270);
    KnnOptions options = wide(metric());
    options.self = self;
    Neighbours first;
    for (const std::string& isa : isas()) {
      SCOPED_TRACE(isa);
      const ForcedIsa forced(isa);
      const Neighbours answer = knn(queries, base, kNeighbours, options);
      if (first.ids.empty()) first = answer;
      EXPECT_TRUE(same_bits(answer, first));
      EXPECT_GT(compare_plans(queries, base, kNeighbours, options, first, ++seed), 0);
    }
  }
}

TEST_P(Invariant, PermutingTheBasePermutesTheIds) {
  for (const Kind kind : kKinds) {
    const Index n = 250;
    const Sets sets(kind, n, 12, 17);
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(kSeed));
    Matrix permuted = sets.base;
    for (Index i = 0; i < n; ++i) std::copy_n(sets.base.row(order[static_cast<std::size_t>(i)]), 17, permuted.row(i));

    const Neighbours a = knn(sets.queries.view(), sets.base.view(), n, wide(metric()));
    const Neighbours b = knn(sets.queries.view(), permuted.view(), n, wide(metric()));
    ASSERT_EQ(a.distances64, b.distances64) << name_of(kind);
    for (Index q = 0; q < 12; ++q) {
      // Within a run of ties ids ascend, so a run's rows agree as sets.
      for (Index first = 0; first < n;) {
        Index last = first;
        std::vector<Index> rows_a, rows_b;
        for (; last < n && a.distances64[static_cast<std::size_t>(q * n + last)] == a.distances64[static_cast<std::size_t>(q * n + first)]; ++last) {
          rows_a.push_back(a.ids[static_cast<std::size_t>(q * n + last)]);
          rows_b.push_back(order[static_cast<std::size_t>(b.ids[static_cast<std::size_t>(q * n + last)])]);
        }
        // l2 may tie in the reported root only; keys order those, so only longer runs than the keys' own would differ.
        std::ranges::sort(rows_a);
        std::ranges::sort(rows_b);
        ASSERT_EQ(rows_a, rows_b) << name_of(kind) << ", query " << q << ", entries " << first << ".." << last;
        first = last;
      }
    }
  }
}

TEST_P(Invariant, AQueryAloneGetsTheBitsItGetsAmongAThousandCopies) {
  for (const Kind kind : kKinds) {
    const Sets sets(kind, 200, 3, 33);
    for (Index q = 0; q < 3; ++q) {
      const RowSet alone = slice(sets.queries.view(), q, q + 1);
      RowSet copies = alone;
      copies.rows = 1024;
      copies.row_stride = 0;
      for (const int threads : {1, 2}) {
        KnnOptions options = wide(metric());
        options.threads = threads;
        const Neighbours one = knn(alone, sets.base.view(), 10, options);
        const Neighbours many = knn(copies, sets.base.view(), 10, options);
        for (std::size_t s = 0; s < many.ids.size(); ++s) {
          ASSERT_EQ(many.ids[s], one.ids[s % 10]) << name_of(kind);
          ASSERT_EQ(many.distances64[s], one.distances64[s % 10]) << name_of(kind);
        }
      }
    }
  }
}

TEST_P(Invariant, APreparedBaseAnswersAsKnnDoes) {
  for (const Kind kind : kKinds) {
    const Sets sets(kind, 300, 25, 19);
    KnnOptions options = wide(metric());
    const PreparedBase prepared(sets.base.view(), options);
    EXPECT_EQ(prepared.rows(), 300);
    EXPECT_EQ(prepared.cols(), 19);
    for (const Index k : {1, 10, 301}) {
      EXPECT_TRUE(same_bits(prepared.search(sets.queries.view(), k), knn(sets.queries.view(), sets.base.view(), k, options))) << name_of(kind);
      KnnOptions again = options;
      again.self = SelfMode::exclude;
      again.distances = DistanceType::float32;
      EXPECT_TRUE(same_bits(prepared.search(slice(sets.base.view(), 100, 140), k, again), knn(slice(sets.base.view(), 100, 140), sets.base.view(), k, again)));
    }
  }
}

TEST_P(Invariant, APreparedBaseServesSeveralThreadsAtOnce) {
  const Sets sets(Kind::normal, 400, 30, 32);
  KnnOptions options = wide(metric());
  options.threads = 2;
  const PreparedBase prepared(sets.base.view(), options);
  const Neighbours want = knn(sets.queries.view(), sets.base.view(), 5, options);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < 4; ++c) {
      callers.emplace_back([&] {
        for (int i = 0; i < 5; ++i) {
          if (!same_bits(prepared.search(sets.queries.view(), 5), want)) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(Invariant, SkippedRowsLeaveTheOthersAsTheyWere) {
  const Sets sets(Kind::normal, 200, 10, 8);
  Matrix holed = sets.base;
  for (Index i = 0; i < 200; i += 9) holed.row(i)[i % 8] = std::numeric_limits<double>::quiet_NaN();
  KnnOptions options = wide(metric());
  options.nan = NanPolicy::skip;
  const Neighbours got = knn(sets.queries.view(), holed.view(), 200, options);
  const Neighbours all = knn(sets.queries.view(), sets.base.view(), 200, wide(metric()));
  EXPECT_EQ(got.report.skipped_base, 23);
  for (Index q = 0; q < 10; ++q) {
    auto kept = got.ids.begin() + q * 200;
    for (Index j = 0; j < 200; ++j) {
      const std::int64_t id = all.ids[static_cast<std::size_t>(q * 200 + j)];
      if (id % 9 == 0) continue;
      ASSERT_EQ(*kept++, id);
    }
    ASSERT_EQ(std::count(kept, got.ids.begin() + (q + 1) * 200, -1), 23);
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, Invariant, ::testing::ValuesIn(vector_metrics()), [](const auto& p) { return std::string(name_of(p.param)); });

INSTANTIATE_TEST_SUITE_P(Distributions, Invariant, ::testing::Values(Metric::wasserstein), [](const auto& p) { return std::string(name_of(p.param)); });

TEST(Cancellation, EndsACallWithItsOwnError) {
  const Sets sets(Kind::normal, 500, 50, 16);
  std::stop_source stop;
  stop.request_stop();
  KnnOptions options = wide(Metric::l2);
  options.stop = stop.get_token();
  const auto code_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code_of([&] { knn(sets.queries.view(), sets.base.view(), 3, options); }), ErrorCode::cancelled);
  EXPECT_EQ(code_of([&] { PreparedBase(sets.base.view(), options); }), ErrorCode::cancelled);
  const PreparedBase prepared(sets.base.view(), wide(Metric::l2));
  EXPECT_EQ(code_of([&] { prepared.search(sets.queries.view(), 3, options); }), ErrorCode::cancelled);
  EXPECT_TRUE(same_bits(prepared.search(sets.queries.view(), 3), knn(sets.queries.view(), sets.base.view(), 3, wide(Metric::l2)))) << "after a cancelled search";
}

TEST(Cancellation, ReachesACallThatIsUnderWay) {
  const Sets sets(Kind::normal, 4000, 400, 64);
  for (const int threads : {1, 2}) {
    std::stop_source stop;
    KnnOptions options = wide(Metric::l2);
    options.threads = threads;
    options.tile = 48;
    options.stop = stop.get_token();
    // The first report of the search asks for the stop; the call must not get to its end.
    options.progress = [&](const Progress& p) {
      if (p.phase == "search") stop.request_stop();
    };
    EXPECT_THROW(knn(sets.queries.view(), sets.base.view(), 3, options), Error) << threads;
  }
}

TEST(ProgressReports, ReachTheirTotalAndNeverGoBack) {
  const Sets sets(Kind::normal, 3000, 200, 32);
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{60000}}) {
    for (const int threads : {1, 2}) {
      std::vector<std::pair<std::string, Progress>> seen;
      KnnOptions options = wide(Metric::l2);
      options.threads = threads;
      options.memory = memory;
      options.tile = memory > 0 ? 48 : 0;
      options.progress = [&](const Progress& p) { seen.emplace_back(std::string(p.phase), p); };
      const Neighbours answer = knn(sets.queries.view(), sets.base.view(), 10, options);
      ASSERT_GE(seen.size(), static_cast<std::size_t>(4 * answer.report.segments));
      double pairs = 0;
      for (std::size_t i = 0; i < seen.size(); ++i) {
        const auto& [phase, p] = seen[i];
        EXPECT_TRUE(phase == "prepare" || phase == "search");
        EXPECT_LE(p.done, p.total * (1 + 1e-9));
        const bool phase_ends = i + 1 == seen.size() || seen[i + 1].second.done < p.done;
        if (!phase_ends) continue;
        EXPECT_EQ(p.done, p.total) << phase;
        if (phase == "search") pairs += p.total;
      }
      EXPECT_EQ(pairs, 200.0 * 3000.0);
      EXPECT_EQ(answer.report.pairs, pairs);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
