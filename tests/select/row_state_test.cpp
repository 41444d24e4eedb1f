// SPDX-License-Identifier: Apache-2.0
#include "select/row_state.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tessera::testing {
namespace {

using core::Candidate;
using select::Pending;
using select::Refiner;
using select::RowCapacity;
using select::RowState;
using select::Scratch;

/// Keys by position; position and id are the same number. Counts what it was asked.
class TableRefiner final : public Refiner {
 public:
  explicit TableRefiner(std::vector<double> keys) : keys_(std::move(keys)) {}
  void keys(std::span<const Pending> pairs, Candidate* out) override {
    for (const Pending& p : pairs) *out++ = {keys_.at(p.position), p.position};
    refined += std::ssize(pairs);
  }
  float z_above(double key) const noexcept override { return std::nextafterf(static_cast<float>(key), std::numeric_limits<float>::infinity()); }
  float widest(float z) const noexcept override { return z; }
  double key(std::size_t i) const { return keys_[i]; }

  Index refined = 0;

 private:
  std::vector<double> keys_;
};

/// A row with its memory.
struct Row {
  explicit Row(Index k, Index hits = 8, bool coarse = false)
      : capacity(RowCapacity::for_k(k, hits, false, coarse)), pending(static_cast<std::size_t>(capacity.pending)), best(static_cast<std::size_t>(k)),
        uppers(static_cast<std::size_t>(k + capacity.pending)), refined(static_cast<std::size_t>(k + capacity.pending)),
        scratch{{uppers.data(), uppers.size()}, {refined.data(), refined.size()}} {
    state.reset(capacity, pending.data(), best.data());
  }
  void add(std::uint32_t position, double z, double slack, Refiner& refiner) {
    state.add({static_cast<float>(z - slack), static_cast<float>(z + slack), position});
    if (state.wants_compaction()) state.compact(refiner, scratch);
  }
  std::vector<Candidate> finish(Refiner& refiner) {
    std::vector<Candidate> out(best.size());
    state.finish(refiner, scratch, out.data());
    return out;
  }

  RowCapacity capacity;
  std::vector<Pending> pending;
  std::vector<Candidate> best;
  std::vector<float> uppers;
  std::vector<Candidate> refined;
  Scratch scratch;
  RowState state;
};

std::vector<std::int64_t> ids(const std::vector<Candidate>& list) {
  std::vector<std::int64_t> out;
  for (const Candidate& c : list) out.push_back(c.id);
  return out;
}

TEST(RowState, KeepsTheSmallerIdAmongTies) {
  for (const int n : {5, 40, 500}) {
    for (const bool descending : {false, true}) {
      TableRefiner refiner(std::vector<double>(static_cast<std::size_t>(n), 1.0));
      Row row(3);
      for (int i = 0; i < n; ++i) row.add(static_cast<std::uint32_t>(descending ? n - 1 - i : i), 1, 0.25, refiner);
      EXPECT_EQ(ids(row.finish(refiner)), (std::vector<std::int64_t>{0, 1, 2})) << n;
    }
  }
}

TEST(RowState, KeepsPairsWhoseLowerEndEqualsTheThreshold) {
  // Exact brackets: all lower and upper ends tie at the threshold, and the smallest id comes last.
  TableRefiner refiner(std::vector<double>(200, 2.0));
  Row row(1);
  for (std::uint32_t i = 200; i-- > 0;) row.add(i, 2, 0, refiner);
  EXPECT_EQ(ids(row.finish(refiner)), std::vector<std::int64_t>{0});
}

TEST(RowState, PadsAListThatIsTooShort) {
  TableRefiner refiner({5.0, std::numeric_limits<double>::infinity()});
  Row row(4);
  row.add(1, std::numeric_limits<double>::infinity(), 0, refiner);
  row.add(0, 5, 1, refiner);
  const auto list = row.finish(refiner);
  EXPECT_EQ(ids(list), (std::vector<std::int64_t>{0, 1, -1, -1})) << "a real row at infinity comes before padding";
  EXPECT_TRUE(std::isinf(list[3].key));
}

TEST(RowState, FindsTheNearestOfAnyOrderAndAnyBrackets) {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 300; ++trial) {
    const auto n = 1 + random() % 700;
    const auto k = static_cast<Index>(1 + random() % 40);
    std::vector<double> keys(n);
    for (double& key : keys) key = static_cast<double>(random() % 200) / 4;
    TableRefiner refiner(keys);
    Row row(k, 8, trial % 2 == 1);
    const double slack = trial % 3 == 0 ? 0.0 : trial % 3 == 1 ? 0.5 : 100.0;
    for (std::size_t i = 0; i < n; ++i) row.add(static_cast<std::uint32_t>(i), keys[i], slack, refiner);
    std::vector<Candidate> want;
    for (std::size_t i = 0; i < n; ++i) want.push_back({keys[i], static_cast<std::int64_t>(i)});
    std::sort(want.begin(), want.end());
    want.resize(static_cast<std::size_t>(k));
    const auto got = row.finish(refiner);
    ASSERT_EQ(ids(got), ids(want)) << "trial " << trial << ", n " << n << ", k " << k;
  }
}

TEST(RowState, RefinesFewPairsWhereBracketsAreNarrow) {
  std::mt19937_64 random(7);
  std::vector<double> keys(10000);
  for (double& key : keys) key = static_cast<double>(random() % 1000000);
  TableRefiner refiner(keys);
  Row row(10);
  for (std::size_t i = 0; i < keys.size(); ++i) row.add(static_cast<std::uint32_t>(i), keys[i], 1, refiner);
  row.finish(refiner);
  EXPECT_LT(refiner.refined, 60);
}

TEST(RowState, RefinesAFewTimesKOfCoarseBrackets) {
  std::mt19937_64 random(9);
  std::vector<double> keys(10000);
  for (double& key : keys) key = static_cast<double>(random() % 1000000);
  TableRefiner refiner(keys);
  Row row(10, 8, true);
  // Brackets as wide as the keys of 400 rows, their middles off by a fifth of it.
  for (std::size_t i = 0; i < keys.size(); ++i) row.add(static_cast<std::uint32_t>(i), keys[i] + static_cast<double>(random() % 8000) - 4000, 20000, refiner);
  const auto list = row.finish(refiner);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(list[9].key, keys[9]);
  EXPECT_LT(refiner.refined, 900);  // what lies within a bracket of the k-th, about 250, and what came before the threshold had fallen
}

TEST(RowState, TakesSeedsAsCandidatesAndIgnoresPadding) {
  TableRefiner refiner({1.0, 2.0, 3.0});
  Row row(3);
  const Candidate seeds[] = {{1.5, 70}, {2.0, 0}, {9.0, 71}, {}, {}};
  row.state.seed(seeds, 5, refiner, row.scratch);
  for (std::uint32_t i = 0; i < 3; ++i) row.add(i, refiner.key(i), 0.1, refiner);
  EXPECT_EQ(ids(row.finish(refiner)), (std::vector<std::int64_t>{0, 70, 0}));
}

TEST(RowState, TakesMoreSeedsThanItsMemoryHolds) {
  TableRefiner refiner({});
  Row row(2);
  std::vector<Candidate> seeds;
  for (int i = 0; i < 1000; ++i) seeds.push_back({1000.0 - i, i});
  row.state.seed(seeds.data(), 1000, refiner, row.scratch);
  EXPECT_EQ(ids(row.finish(refiner)), (std::vector<std::int64_t>{999, 998}));
}

TEST(RowState, LowersItsThresholdAndNeverRaisesIt) {
  std::mt19937_64 random(8);
  std::vector<double> keys(3000);
  for (double& key : keys) key = static_cast<double>(random() % 100000);
  TableRefiner refiner(keys);
  Row row(5);
  EXPECT_EQ(row.state.tau(), std::numeric_limits<float>::infinity());
  float before = row.state.tau();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    row.add(static_cast<std::uint32_t>(i), keys[i], 10, refiner);
    ASSERT_LE(row.state.tau(), before);
    before = row.state.tau();
  }
  row.finish(refiner);
  std::sort(keys.begin(), keys.end());
  EXPECT_GE(row.state.tau(), keys[4]);
  EXPECT_LE(row.state.tau(), keys[4] + 21);
}

TEST(RowCapacity, HoldsOneKernelCallsHitsBeyondTheTrigger) {
  for (const Index k : {1, 2, 10, 1000}) {
    const RowCapacity c = RowCapacity::for_k(k, 144);
    EXPECT_EQ(c.k, k);
    EXPECT_GT(c.trigger, k);
    EXPECT_GE(c.pending, c.trigger + 144);
  }
}

}  // namespace
}  // namespace tessera::testing
