// SPDX-License-Identifier: Apache-2.0
// Kernels broken on purpose: without any one of their barriers, with any one mask short of a lane, without waiting for their copies, with
// bounds that are too small. Each must be noticed: a wrong answer, a refusal by the shim, a crash. What goes unnoticed here would go
// unnoticed on a device.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "contract/certificate.hpp"
#include "engine/cuda_backend.hpp"
#include "engine/registry.hpp"
#include "engine/session.hpp"
#include "simt/run_kernel.hpp"
#include "support/data.hpp"

namespace tessera::testing {
namespace {

using simt_shim::Faults;
using simt_shim::configure;

engine::BackendMaker over_the_shim(Index hits) {
  return [hits](BackendKind, int) { return engine::make_cuda_backend(simt_shim::make_shim_device(), engine::select_kernels(), {.hits = hits}); };
}

template <class T>
void append_bytes(std::vector<std::byte>& to, const std::vector<T>& from) {
  const auto* bytes = reinterpret_cast<const std::byte*>(from.data());
  to.insert(to.end(), bytes, bytes + from.size() * sizeof(T));
}

using Bytes = std::vector<std::byte>;
/// A run of kernels, and all that it leaves behind that no schedule may change.
using Scenario = std::function<Bytes()>;

Bytes screened(cuda::KernelId kernel) {
  simt_shim::ScreenProblem p(1, 200, 70, 11);
  std::fill(p.thresholds.begin(), p.thresholds.end(), 3.0f);
  std::fill(p.thresholds.begin() + 100, p.thresholds.end(), std::numeric_limits<float>::infinity());
  const auto outcome = simt_shim::run_screen(kernel, p, 2, 256);
  Bytes bytes;
  append_bytes(bytes, outcome.counts);
  for (const auto& [row, position, score] : outcome.hits) {
    append_bytes(bytes, std::vector<std::uint32_t>{row, position, std::bit_cast<std::uint32_t>(score)});
  }
  return bytes;
}

Bytes searched(Kind kind, Index rows, Index cols, Index k, Index hits) {
  std::mt19937_64 random(5);
  const Stored base(make(kind, rows, cols, random), DType::f32);
  const Stored queries(make(kind, 2, cols, random), DType::f32);
  const KnnOptions options{.metric = {Metric::sqeuclidean}, .distances = DistanceType::float64, .schedule = Schedule::by_query, .threads = 1};
  const Neighbours lists = engine::search_streaming(queries.rows(), base.rows(), k, options, 1, over_the_shim(hits));
  Bytes bytes;
  append_bytes(bytes, lists.ids);
  append_bytes(bytes, lists.distances64);
  return bytes;
}

/// Buffers that overflow, thresholds, exact sums, ties by id, and lists both in shared memory and not.
Bytes searched_in_many_ways() {
  Bytes all;
  for (const Bytes& part : {searched(Kind::normal, 600, 20, 5, 128), searched(Kind::small_integers, 600, 2, 40, 128), searched(Kind::normal, 560, 3, 520, 0)}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// Whether a scenario comes out otherwise under a fault; in a process of its own, which the fault may crash or hang.
bool noticed(const Scenario& scenario, const Bytes& right, const Faults& faults, std::uint64_t seed, unsigned seconds = 20) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    configure({.seed = seed, .faults = faults});
    int status = 1;
    try {
      status = scenario() == right ? 0 : 1;
    } catch (...) {
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

bool noticed_by_chance(const Scenario& scenario, const Bytes& right, const Faults& faults) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    if (noticed(scenario, right, faults, seed)) return true;
  }
  return false;
}

void expect_all_noticed(const Scenario& scenario) {
  simt_shim::take_reached();
  configure({.seed = 99});
  const Bytes right = scenario();
  const simt_shim::Reached reached = simt_shim::take_reached();
  ASSERT_FALSE(noticed(scenario, right, {}, 7, 300)) << "two schedules, two answers";
  EXPECT_FALSE(reached.barriers.empty());
  for (const simt_shim::Site& site : reached.barriers) {
    EXPECT_TRUE(noticed_by_chance(scenario, right, {.barrier = site})) << "the barrier at " << site << " could go";
  }
  for (const simt_shim::Site& site : reached.exchanges) {
    EXPECT_TRUE(noticed(scenario, right, {.lanes = site}, 1)) << "the mask at " << site << " could lack a lane";
  }
  configure({});
}

TEST(BrokenKernels, ScreensAreNoticed) {
  expect_all_noticed([] { return screened(cuda::KernelId::screen_squared); });
  const Bytes right = screened(cuda::KernelId::screen_product);
  EXPECT_TRUE(noticed([] { return screened(cuda::KernelId::screen_product); }, right, {.arrival = "every"}, 1));
}

TEST(BrokenKernels, SelectionsAreNoticed) { expect_all_noticed(searched_in_many_ways); }

class BrokenBound : public ::testing::Test {
 protected:
  const Asked asked_{.tile = cuda::kPanel, .backend = over_the_shim(cuda::kPanel)};
};

TEST_F(BrokenBound, OfDotSquaredIsFoundOutByNarrowing) { dot_squared_by_narrowing(asked_, engine::select_kernels()); }
TEST_F(BrokenBound, OfDotSquaredIsFoundOutByItsChain) { dot_squared_by_its_chain(asked_); }
TEST_F(BrokenBound, OfDotProductIsFoundOutByItsChain) { dot_product_by_its_chain(asked_); }
TEST_F(BrokenBound, OfDirectFormsIsFoundOutByNarrowing) { direct_forms_by_narrowing(asked_); }
TEST_F(BrokenBound, OfDirectRootIsFoundOutByItsChain) { direct_root_by_its_chain(asked_); }
TEST_F(BrokenBound, OfDirectLinearIsFoundOutByItsChain) { direct_linear_by_its_chain(asked_); }
TEST_F(BrokenBound, OfTheInt8ScreenIsFoundOutByNarrowing) { int8_by_narrowing(asked_); }
TEST_F(BrokenBound, OfTheBf16ScreenIsFoundOutByNarrowing) { bf16_by_narrowing(asked_); }

}  // namespace
}  // namespace tessera::testing
