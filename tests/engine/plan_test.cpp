// SPDX-License-Identifier: Apache-2.0
#include "engine/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/plan_values.hpp"
#include "prepare/panels.hpp"
#include "tessera/error.hpp"

namespace tessera::testing {
namespace {

using engine::plan_base;
using engine::plan_queries;
using engine::Wishes;

constexpr std::uint64_t kPlenty = std::uint64_t{8} << 30;
const core::DeviceInfo kDevice{.threads = 4, .l2_bytes = 1 << 20, .panel_rows = 8, .panel_cols = 48, .has_int8 = true};

const metrics::MetricTraits& of(Metric metric) { return metrics::traits_of(metric); }

template <class Call>
ErrorCode code_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::internal;
}

TEST(BasePlan, ChoosesAScreenTheMetricHas) {
  auto chosen = [](Metric metric, Index d, Screen wish) { return plan_base(1000, d, of(metric), kDevice, {.screen = wish, .memory = kPlenty}, false).screen; };
  EXPECT_EQ(chosen(Metric::l2, metrics::kDirectBelow - 1, Screen::automatic), Screen::fp32_direct);
  EXPECT_EQ(chosen(Metric::l2, metrics::kDirectBelow, Screen::automatic), Screen::fp32_dot);
  EXPECT_EQ(chosen(Metric::l2, 3, Screen::fp32_dot), Screen::fp32_dot);
  EXPECT_EQ(chosen(Metric::inner_product, 3, Screen::fp32), Screen::fp32_dot);
  EXPECT_EQ(chosen(Metric::l1, 300, Screen::fp32), Screen::fp32_direct);
  EXPECT_EQ(chosen(Metric::l1, 300, Screen::double_precision), Screen::double_precision);
  EXPECT_EQ(chosen(Metric::cosine, 100, Screen::int8), Screen::int8);
  EXPECT_EQ(chosen(Metric::cosine, engine::kLargestInt8Cols + 1, Screen::int8), Screen::fp32_dot);
  EXPECT_EQ(code_of([&] { chosen(Metric::l1, 100, Screen::int8); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([&] { chosen(Metric::l2, 100, Screen::bf16); }), ErrorCode::unsupported) << "no tensor cores";
  EXPECT_EQ(code_of([&] { chosen(Metric::l1, 3, Screen::fp32_dot); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([&] { chosen(Metric::inner_product, 3, Screen::fp32_direct); }), ErrorCode::unsupported);
}

TEST(BasePlan, ScreensNoRowsLongerThanTheBoundsAreProvenFor) {
  const Index d = engine::kLargestScreenedCols;
  EXPECT_EQ(plan_base(10, d, of(Metric::l2), kDevice, {.memory = kPlenty}, false).screen, Screen::fp32_dot);
  EXPECT_EQ(plan_base(10, d + 1, of(Metric::l2), kDevice, {.memory = kPlenty}, false).screen, Screen::double_precision);
}

TEST(BasePlan, CoversTheBaseInWholeTiles) {
  for (const Index n : {0, 1, 47, 48, 49, 1000, 100000}) {
    for (const Index d : {1, 16, 100, 3000}) {
      for (const Index tile : {0, 1, 48, 50, 96, 5000}) {
        for (const std::uint64_t memory : {kPlenty, std::uint64_t{80} << 20}) {
          const auto plan = plan_base(n, d, of(Metric::l2), kDevice, {.tile = tile, .memory = memory}, false);
          ASSERT_GT(plan.tile_cols, 0);
          ASSERT_EQ(plan.tile_cols % kDevice.panel_cols, 0);
          ASSERT_GE(plan.tile_cols, std::min(tile, n)) << "a tile larger than the base is the base";
          ASSERT_GE(plan.segments, 1);
          ASSERT_GE(plan.segments * plan.segment_rows, n);
          if (n > 0) {
            ASSERT_EQ(plan.segment_rows % plan.tile_cols, 0);
            ASSERT_LT((plan.segments - 1) * plan.segment_rows, n) << "the last segment is not empty";
          }
        }
      }
    }
  }
}

TEST(BasePlan, KeepsSegmentsWithinTheBudget) {
  for (const Index n : {400, 1000, 10000, 12345}) {
    for (const Index d : {3, 16, 100}) {
      for (std::uint64_t memory = 20000; memory < 4000000; memory += memory / 3) {
        const Wishes wishes{.screen = Screen::fp32_direct, .tile = 48, .memory = memory};
        core::BasePlan plan;
        try {
          plan = plan_base(n, d, of(Metric::l2), kDevice, wishes, false);
        } catch (const Error& e) {
          ASSERT_EQ(e.code(), ErrorCode::out_of_memory);
          continue;
        }
        const Index rows = std::min(n, plan.segment_rows);
        ASSERT_LE(prepare::panel_bytes(rows, d, kDevice.panel_cols, plan.screen), memory) << "n " << n << ", d " << d << ", " << plan.segments << " segments";
      }
    }
  }
}

TEST(BasePlan, SaysThatATileDoesNotFit) {
  EXPECT_EQ(code_of([] { plan_base(1000, 100, of(Metric::l2), kDevice, {.tile = 48, .memory = 10000}, false); }), ErrorCode::out_of_memory);
}

TEST(BasePlan, KeepsAPreparedBaseWholeOrRefuses) {
  EXPECT_EQ(plan_base(1000, 100, of(Metric::l2), kDevice, {.tile = 48, .memory = 1000000}, true).segments, 1);
  EXPECT_EQ(code_of([] { plan_base(1000, 100, of(Metric::l2), kDevice, {.tile = 48, .memory = 100000}, true); }), ErrorCode::out_of_memory);
}

TEST(QueryPlan, HasTilesOfWholePanelsAndSplitsOnlyByBase) {
  for (const Index nq : {0, 1, 7, 8, 9, 100, 10000}) {
    for (const Index nb : {0, 1, 100, 100000}) {
      for (const Schedule schedule : {Schedule::automatic, Schedule::by_query, Schedule::by_base}) {
        for (const int threads : {1, 4, 64}) {
          core::DeviceInfo device = kDevice;
          device.threads = threads;
          const Wishes wishes{.schedule = schedule, .memory = kPlenty};
          const auto base = plan_base(nb, 64, of(Metric::l2), device, wishes, false);
          const auto plan = plan_queries(nq, nb, 64, 10, base, device, wishes);
          ASSERT_GE(plan.tile_rows, 1);
          ASSERT_LE(plan.tile_rows, std::max<Index>(nq, 1));
          ASSERT_TRUE(plan.tile_rows % device.panel_rows == 0 || plan.tile_rows < device.panel_rows || plan.tile_rows == nq);
          ASSERT_GE(plan.splits, 1);
          ASSERT_NE(plan.schedule, Schedule::automatic);
          if (schedule != Schedule::automatic) {
            ASSERT_EQ(plan.schedule, schedule);
          }
          if (plan.schedule == Schedule::by_query) {
            ASSERT_EQ(plan.splits, 1);
          }
          ASSERT_LE(plan.splits, std::max<Index>(1, (nb + base.tile_cols - 1) / base.tile_cols));
        }
      }
    }
  }
}

TEST(QueryPlan, SplitsTheBaseWhenQueriesAreTooFewForTheThreads) {
  const auto base = plan_base(1000000, 64, of(Metric::l2), kDevice, {.memory = kPlenty}, false);
  EXPECT_EQ(plan_queries(1, 1000000, 64, 10, base, kDevice, {.memory = kPlenty}).schedule, Schedule::by_base);
  EXPECT_GE(plan_queries(1, 1000000, 64, 10, base, kDevice, {.memory = kPlenty}).splits, kDevice.threads);
  EXPECT_EQ(plan_queries(100000, 1000000, 64, 10, base, kDevice, {.memory = kPlenty}).schedule, Schedule::by_query);
  core::DeviceInfo one = kDevice;
  one.threads = 1;
  EXPECT_EQ(plan_queries(1, 1000000, 64, 10, base, one, {.memory = kPlenty}).schedule, Schedule::by_query);
}

/// A block of queries fetches every base tile once: of a batch there are as few blocks as caches allow, and workers share their tiles.
TEST(QueryPlan, FetchesTheBaseOnceForABatch) {
  const Index n = 1'000'000;
  const auto plan_of = [&](Index nq, Index nb, Index k, int threads, std::uint64_t memory = kPlenty) {
    core::DeviceInfo device = kDevice;
    device.threads = threads;
    return plan_queries(nq, nb, 128, k, plan_base(nb, 128, of(Metric::l2), device, {.memory = kPlenty}, false), device, {.memory = memory});
  };
  for (const int threads : {2, 16}) {
    for (const Index nq : {10, 100, 200}) {
      const core::QueryPlan plan = plan_of(nq, n, 10, threads);
      EXPECT_EQ(plan.schedule, Schedule::by_base);
      EXPECT_EQ(plan.tile_rows, nq);
      EXPECT_EQ(plan.splits, threads);
    }
  }
  EXPECT_EQ(plan_of(1000, n, 10, 2).tile_rows, 256);
  EXPECT_EQ(plan_of(1000, n, 10, 2).splits, 2);
  EXPECT_EQ(plan_of(5000, n, 10, 2).schedule, Schedule::by_query);
  EXPECT_EQ(plan_of(100, n, 10, 1).schedule, Schedule::by_query);
  // Lists of its own cost a worker more than the tiles it would share: blocks shrink instead.
  EXPECT_EQ(plan_of(100, 100'000, 10'000, 2).schedule, Schedule::by_query);
  EXPECT_EQ(plan_of(100, 100'000, 10'000, 2).tile_rows, 32);
  EXPECT_EQ(plan_of(100, 20'000, 10, 2).schedule, Schedule::by_query);
  EXPECT_EQ(plan_of(200, n, 1000, 2, 20'000'000).schedule, Schedule::by_query);
}

core::ValuesProblem square(Index n, Index d, bool self) {
  core::ValuesProblem problem;
  problem.x.rows = problem.y.rows = n;
  problem.x.cols = problem.y.cols = d;
  problem.self = self;
  return problem;
}

core::ValuesCosts costs_of(std::uint64_t row_bytes, double pair_nanoseconds) {
  core::ValuesCosts costs;
  costs.bytes_per_col = 408;
  costs.bytes_per_worker = 70'000;
  costs.bytes_per_row = row_bytes;
  costs.pair_nanoseconds = pair_nanoseconds;
  return costs;
}

TEST(ValuesPlan, KeepsTilesAndTheirScratchWithinAQuarterOfTheBudget) {
  int planned = 0;
  for (const bool self : {true, false}) {
    for (const Index n : {1, 100, 40'000, 3'000'000}) {
      for (const double pair : {0.5, 500.0}) {
        for (const std::uint64_t row_bytes : {std::uint64_t{0}, std::uint64_t{9'300}, std::uint64_t{400'000}}) {
          for (std::uint64_t memory = 100'000; memory < kPlenty; memory *= 3) {
            const core::ValuesProblem problem = square(n, 100, self);
            const core::ValuesCosts costs = costs_of(row_bytes, pair);
            core::ValuesPlan plan;
            try {
              plan = engine::plan_values(problem, costs, {.threads = 4, .memory = memory});
            } catch (const Error& e) {
              ASSERT_EQ(e.code(), ErrorCode::out_of_memory);
              continue;
            }
            ++planned;
            const Index tile = plan.grid.tile_rows * plan.grid.tile_cols * 4 * (plan.mirrored ? 2 : 1);
            const auto worker = static_cast<std::uint64_t>(tile) + costs.bytes_per_worker + row_bytes * static_cast<std::uint64_t>(plan.grid.tile_rows);
            ASSERT_LE(4 * worker, memory / 4) << n << " rows, scratch " << row_bytes << ", memory " << memory << ", tiles " << plan.grid.tile_rows << " x " << plan.grid.tile_cols;
          }
        }
      }
    }
  }
  EXPECT_GT(planned, 200);
}

TEST(ValuesPlan, RefusesTilesWhoseScratchDoesNotFit) {
  const core::ValuesProblem problem = square(10'000, 768, true);
  const core::ValuesCosts costs = costs_of(9'300, 30);
  // 1,000 x 1,000 floats and their mirror image take 8 MB, the rows' scratch 9.3 MB.
  EXPECT_EQ(code_of([&] { engine::plan_values(problem, costs, {.tile_rows = 1'000, .tile_cols = 1'000, .threads = 1, .memory = 16'000'000}); }), ErrorCode::out_of_memory);
  EXPECT_EQ(engine::plan_values(problem, costs, {.tile_rows = 1'000, .tile_cols = 1'000, .threads = 1, .memory = 64'000'000}).grid.tile_rows, 1'000);
}

TEST(Plans, KeepWithinADevicesOwnMemory) {
  core::DeviceInfo device{.threads = 3, .l2_bytes = 50 << 20, .panel_rows = 128, .panel_cols = 128, .most_tile_rows = 8192, .most_tile_cols = 32768,
                          .memory = std::uint64_t{4} << 30, .row_bytes = [](Index k, Index d) { return static_cast<std::uint64_t>(100 * k + 12 * d + 20000); }};
  const Index n = 3000000;
  const Index d = 768;
  const Wishes wishes{.memory = std::uint64_t{200} << 30};
  const auto base = plan_base(n, d, of(Metric::l2), device, wishes, false);
  EXPECT_GT(base.segments, 1);
  // Packed rows, and doubles for exact sums.
  EXPECT_LE(static_cast<std::uint64_t>(base.segment_rows) * (4 * (d + 1) + 8 * d), device.memory / 2);
  EXPECT_EQ(base.tile_cols % device.panel_cols, 0);
  const auto queries = plan_queries(n, n, d, 100, base, device, wishes);
  EXPECT_LE(3 * static_cast<std::uint64_t>(queries.tile_rows) * device.row_bytes(100, d), device.memory / 4);
  EXPECT_EQ(queries.tile_rows % device.panel_rows, 0);
  EXPECT_EQ(plan_queries(n, n, d, 10, base, device, {.memory = std::uint64_t{200} << 30}).tile_rows, 8192);
  device.memory = std::uint64_t{1} << 20;
  EXPECT_EQ(code_of([&] { plan_base(n, d, of(Metric::l2), device, wishes, false); }), ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace tessera::testing
