// SPDX-License-Identifier: Apache-2.0
#include "engine/workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <stdexcept>
#include <vector>

#include "tessera/error.hpp"

namespace tessera::testing {
namespace {

TEST(Executor, RunsEveryTaskOnceWithAWorkerOfItsOwn) {
  for (const int threads : {1, 2, 3, 8}) {
    const auto executor = engine::make_executor(threads);
    EXPECT_EQ(executor->threads(), threads);
    std::vector<std::atomic<int>> runs(1000);
    std::vector<std::atomic<int>> busy(static_cast<std::size_t>(threads));
    std::atomic<int> overlaps{0};
    executor->run(1000, [&](Index task, int worker) {
      if (busy.at(static_cast<std::size_t>(worker)).fetch_add(1) != 0) ++overlaps;
      ++runs[static_cast<std::size_t>(task)];
      --busy[static_cast<std::size_t>(worker)];
    });
    for (const auto& r : runs) ASSERT_EQ(r, 1);
    EXPECT_EQ(overlaps, 0);
    executor->run(0, [](Index, int) { FAIL() << "there is no task"; });
  }
}

TEST(Executor, RethrowsWhatATaskThrew) {
  for (const int threads : {1, 2}) {
    const auto executor = engine::make_executor(threads);
    std::atomic<int> ran{0};
    EXPECT_THROW(executor->run(100000,
                               [&](Index task, int) {
                                 ++ran;
                                 if (task == 5) throw std::runtime_error("five");
                               }),
                 std::runtime_error);
    EXPECT_LT(ran, 100000) << "no further tasks after the first error";
    executor->run(3, [&](Index, int) {});
  }
}

TEST(Executor, RunsTasksInAStrictFloatingPointEnvironment) {
  for (const int threads : {1, 2}) {
    std::fesetround(FE_UPWARD);
    const auto executor = engine::make_executor(threads);
    std::atomic<int> wrong{0};
    executor->run(64, [&](Index, int) {
      if (std::fegetround() != FE_TONEAREST) ++wrong;
    });
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(after, FE_UPWARD) << "the caller's own rounding comes back";
  }
}

TEST(Executor, RejectsANegativeNumberOfThreads) { EXPECT_THROW(engine::make_executor(-1), Error); }

TEST(Executor, TakesAllUsableCoresForZero) { EXPECT_GE(engine::make_executor(0)->threads(), 1); }

}  // namespace
}  // namespace tessera::testing
