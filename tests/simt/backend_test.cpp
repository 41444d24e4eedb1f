// SPDX-License-Identifier: Apache-2.0
// The CUDA backend, whole, over a device that runs its kernels on the host: the cases of the contract against the oracle, bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

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
  if (unavailable(c.metric, o.screen)) o.screen = Screen::automatic;
  if (o.memory == 0) return o;
  // Room for a little over one panel.
  o.memory = static_cast<std::uint64_t>(std::max(130 * (c.d() + 1) * 4 * 4 / 3 + 64, nq * c.neighbours() * 16 + 64));
  return o;
}

struct Shape {
  Index more_base;
  Index more_queries;
  Index hits;   // of a row; small ones overflow
  std::size_t every;  // so many-th case of the table
  Screen screen = Screen::automatic;  // instead of the table's
};

/// returns  how many calls were streamed in segments.
Index check_table(Metric metric, const Shape& shape, std::uint64_t seed) {
  const auto table = pairwise(levels(), seed);
  Index streamed = 0;
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
    if (!got) return streamed;
    EXPECT_TRUE(same_bits(*got, want));
    EXPECT_EQ(got->report.backend, "cuda");
    streamed += got->report.segments > 1 ? 1 : 0;
  }
  return streamed;
}

class CudaContract : public ::testing::TestWithParam<Metric> {};

TEST_P(CudaContract, MeetsTheOracleBitForBit) {
  check_table(GetParam(), {.more_base = 0, .more_queries = 0, .hits = 0, .every = 6}, kSeed + 1000 * static_cast<std::uint64_t>(GetParam()));
}

TEST_P(CudaContract, MeetsTheOracleAroundItsPanelsWithBuffersThatOverflow) {
  const Index streamed = check_table(GetParam(), {.more_base = 104, .more_queries = 95, .hits = 128, .every = 12}, kSeed + 1000 * static_cast<std::uint64_t>(GetParam()) + 500);
  EXPECT_GT(streamed, 0) << "no case was streamed in several segments";
}

class TensorContract : public ::testing::TestWithParam<std::tuple<Metric, Screen>> {};

TEST_P(TensorContract, MeetsTheOracleBitForBit) {
  const auto [metric, screen] = GetParam();
  check_table(metric, {.more_base = 104, .more_queries = 0, .hits = 128, .every = 30, .screen = screen}, kSeed + 1000 * static_cast<std::uint64_t>(metric) + 700);
}

INSTANTIATE_TEST_SUITE_P(Metrics, TensorContract,
                         ::testing::Combine(::testing::Values(Metric::l2, Metric::inner_product, Metric::cosine), ::testing::Values(Screen::bf16, Screen::int8)),
                         [](const auto& p) { return fmt::format("{}_{}", name_of(std::get<0>(p.param)), name_of(std::get<1>(p.param))); });

INSTANTIATE_TEST_SUITE_P(Metrics, CudaContract, ::testing::ValuesIn(vector_metrics()), [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace tessera::testing
