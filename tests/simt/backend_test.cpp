// SPDX-License-Identifier: Apache-2.0
// The CUDA backend, whole, over a device that runs its kernels on the host: the cases of the contract against the oracle, bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "contract/pairwise.hpp"
#include "contract/table.hpp"
#include "engine/cuda_backend.hpp"
#include "engine/registry.hpp"
#include "engine/session.hpp"
#include "simt/shim.hpp"
#include "simt/shim_device.hpp"
#include "support/metrics.hpp"
#include "tessera/error.hpp"

namespace tessera::testing {
namespace {

constexpr std::uint64_t kSeed = 20261201;

engine::BackendMaker over_the_shim(engine::CudaSettings settings = {}) {
  return [settings](BackendKind, int) { return engine::make_cuda_backend(simt_shim::make_shim_device(), engine::select_kernels(), settings); };
}

/// Options of a case as this backend takes them.
KnnOptions cuda_options(const Case& c, Index nq, Screen screen) {
  KnnOptions o = options_of(c, nq);
  o.prune = Pruning::off;
  if (screen != Screen::automatic) o.screen = screen;
  if (unavailable(c.metric, o.screen, true)) o.screen = Screen::automatic;
  if (o.memory == 0) return o;
  // Room for a little over one panel; 8-bit rows have four words beside theirs.
  const Index words = std::max(c.d() + 1, (c.d() + 3) / 4 + 4);
  o.memory = static_cast<std::uint64_t>(std::max(130 * words * 4 * 4 / 3 + 64, nq * c.neighbours() * 16 + 64));
  return o;
}

struct Shape {
  Index more_base;
  Index more_queries;
  Index hits;   // of a row; small ones overflow
  std::size_t every;  // so many-th case of the table
  Screen screen = Screen::automatic;  // instead of the table's
};

void check_table(Metric metric, const Shape& shape, std::uint64_t seed) {
  const auto table = pairwise(levels(), seed);
  for (std::size_t i = 0; i < table.size() && !::testing::Test::HasFailure(); i += shape.every) {
    const Case c{metric, table[i], seed + i, shape.more_base, shape.more_queries};
    const Data data = data_of(c);
    SCOPED_TRACE(fmt::format("row {} of the table, hits {}, {}", i, shape.hits, c.describe()));
    const oracle::Answer want = oracle::knn(data.query_rows, data.base_rows,
                                            {.metric = c.metric, .self = c.self_mode(), .skip_nan = c.skip_nan(), .k = c.neighbours()});
    simt_shim::configure({.seed = seed + i});
    std::optional<Neighbours> got;
    EXPECT_NO_THROW(got = engine::search_streaming(data.query_rows, data.base_rows, c.neighbours(), cuda_options(c, data.query_rows.rows, shape.screen), 1,
                                                   over_the_shim({.hits = shape.hits})));
    if (!got) return;
    EXPECT_TRUE(same_bits(*got, want));
    EXPECT_EQ(got->report.backend, "cuda");
  }
}

class CudaContract : public ::testing::TestWithParam<Metric> {};

TEST_P(CudaContract, MeetsTheOracleBitForBit) {
  check_table(GetParam(), {.more_base = 0, .more_queries = 0, .hits = 0, .every = 10}, kSeed + 1000 * static_cast<std::uint64_t>(GetParam()));
}

TEST_P(CudaContract, MeetsTheOracleAroundItsPanelsWithBuffersThatOverflow) {
  check_table(GetParam(), {.more_base = 104, .more_queries = 95, .hits = 128, .every = 100}, kSeed + 1000 * static_cast<std::uint64_t>(GetParam()) + 500);
}

TEST_P(CudaContract, StreamsABaseInSegments) {
  std::mt19937_64 random(17);
  Matrix rows = make(Kind::small_integers, 300, 5, random);
  std::fill_n(rows.row(3), 5, 0.0);  // zero rows are candidates of every segment under cosine
  std::fill_n(rows.row(290), 5, 0.0);
  const Stored base(rows, DType::f32);
  for (const SelfMode self : {SelfMode::natural, SelfMode::exclude, SelfMode::first}) {
    SCOPED_TRACE(name_of(self));
    const RowSet queries = slice(base.rows(), 120, 132);
    const KnnOptions options{.metric = {GetParam()}, .self = self, .memory = 130 * 6 * 4 * 4 / 3 + 12 * 7 * 16};
    const oracle::Answer want = oracle::knn(queries, base.rows(), {.metric = GetParam(), .self = self, .k = 7});
    const Neighbours got = engine::search_streaming(queries, base.rows(), 7, options, 1, over_the_shim());
    EXPECT_TRUE(same_bits(got, want));
    EXPECT_GT(got.report.segments, 1);
  }
}

class TensorContract : public ::testing::TestWithParam<std::tuple<Metric, Screen>> {};

TEST_P(TensorContract, MeetsTheOracleBitForBit) {
  const auto [metric, screen] = GetParam();
  check_table(metric, {.more_base = 104, .more_queries = 0, .hits = 0, .every = 30, .screen = screen}, kSeed + 1000 * static_cast<std::uint64_t>(metric) + 700);
}

INSTANTIATE_TEST_SUITE_P(Metrics, TensorContract,
                         ::testing::Combine(::testing::Values(Metric::l2, Metric::inner_product, Metric::cosine), ::testing::Values(Screen::bf16, Screen::int8)),
                         [](const auto& p) { return fmt::format("{}_{}", name_of(std::get<0>(p.param)), name_of(std::get<1>(p.param))); });

INSTANTIATE_TEST_SUITE_P(Metrics, CudaContract, ::testing::ValuesIn(vector_metrics()), [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace tessera::testing
