// SPDX-License-Identifier: Apache-2.0
// Every metric, type, layout, kind of data, shape and plan against the oracle, bit for bit, on every instruction set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "contract/pairwise.hpp"
#include "contract/table.hpp"
#include "support/isas.hpp"
#include "support/metrics.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

constexpr std::uint64_t kSeed = 20240607;
void expect_plan(const Report& report, const KnnOptions& options, const std::string& isa) {
  EXPECT_EQ(report.isa, isa);
  if (options.prune == Pruning::off || options.memory == 0) {
    EXPECT_EQ(report.pruned, options.prune == Pruning::on);
  }
  if (options.schedule != Schedule::automatic && !report.pruned) {
    EXPECT_EQ(report.schedule, name_of(options.schedule));
  }
  if (options.screen != Screen::automatic && options.screen != Screen::fp32) {
    EXPECT_EQ(report.screen, name_of(options.screen));
  }
}

/// All cases of one table; returns how many calls were streamed.
Index check_table(Metric metric, std::uint64_t seed) {
  const auto table = pairwise(levels(), seed);
  Index streamed = 0;
  for (std::size_t i = 0; i < table.size() && !::testing::Test::HasFailure(); ++i) {
    const Case c{metric, table[i], seed + i};
    const Data data = data_of(c);
    const oracle::Answer want = oracle::knn(data.query_rows, data.base_rows,
                                            {.metric = c.metric, .self = c.self_mode(), .skip_nan = c.skip_nan(), .k = c.neighbours()});
    for (const std::string& isa : isas()) {
      SCOPED_TRACE(fmt::format("{}, row {} of the table, {}", isa, i, c.describe()));
      const ForcedIsa forced(isa);
      KnnOptions options = options_of(c, data.query_rows.rows);
      if (unavailable(c.metric, options.screen, kernels_of(isa).bf16_screen != nullptr)) {
        EXPECT_THROW(knn(data.query_rows, data.base_rows, c.neighbours(), options), Error);
        options.screen = Screen::automatic;
      }
      if (options.prune == Pruning::on && (unprunable(c.metric, options.screen) || c.nb() == 0)) {
        if (c.nb() > 0) {
          EXPECT_THROW(knn(data.query_rows, data.base_rows, c.neighbours(), options), Error);
        }
        options.prune = Pruning::off;
      }
      std::optional<Neighbours> got;
      EXPECT_NO_THROW(got = knn(data.query_rows, data.base_rows, c.neighbours(), options));
      if (!got) return streamed;
      EXPECT_TRUE(same_bits(*got, want));
      expect_plan(got->report, options, isa);
      streamed += got->report.segments > 1 ? 1 : 0;
    }
  }
  fmt::print("seed {}: {} cases, {} of the calls streamed\n", seed, table.size(), streamed);
  return streamed;
}

class Contract : public ::testing::TestWithParam<Metric> {};

TEST_P(Contract, MeetsTheOracleBitForBit) {
  for (std::uint64_t round = 0; round < TESSERA_CONTRACT_ROUNDS; ++round) {
    const std::uint64_t seed = kSeed + 1000 * static_cast<std::uint64_t>(GetParam()) + 100000 * round;
    EXPECT_GT(check_table(GetParam(), seed), 0) << "no case was streamed in several segments";
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, Contract, ::testing::ValuesIn(vector_metrics()), [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace tessera::testing
