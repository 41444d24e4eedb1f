// SPDX-License-Identifier: Apache-2.0
// Every metric, type, layout, kind of data, shape and plan against the oracle, bit for bit, on every instruction set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "contract/pairwise.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/metrics.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

constexpr std::uint64_t kSeed = 20240607;
constexpr Index kFirstId = 11;

// Around the panels (8, 24, 48 base rows; 4, 8 queries) and the tiles (48, 96).
constexpr Index kBaseRows[] = {0, 1, 2, 7, 8, 9, 23, 24, 25, 47, 48, 49, 95, 96, 97, 150};
constexpr Index kQueryRows[] = {0, 1, 3, 4, 5, 8, 9, 33, 70};
constexpr Index kCols[] = {1, 2, 3, 15, 16, 17, 33, 100};
constexpr Index kTiles[] = {0, 48, 96};
constexpr Screen kScreens[] = {Screen::automatic, Screen::fp32, Screen::fp32_direct, Screen::fp32_dot, Screen::double_precision, Screen::int8};
constexpr Schedule kSchedules[] = {Schedule::automatic, Schedule::by_query, Schedule::by_base};
constexpr SelfMode kSelfModes[] = {SelfMode::none, SelfMode::natural, SelfMode::exclude, SelfMode::first};

enum Factor { base_dtype, query_dtype, base_layout, query_layout, kind, base_rows, query_rows, cols, k, self, nan, schedule, screen, tile, threads,
              segmented, wide, prune };

std::vector<int> levels() {
  return {kDTypeCount, kDTypeCount, kLayoutCount, kLayoutCount, kKindCount, static_cast<int>(std::size(kBaseRows)), static_cast<int>(std::size(kQueryRows)),
          static_cast<int>(std::size(kCols)), 6, 4, 2, 3, static_cast<int>(std::size(kScreens)), 3, 3, 2, 2, 2};
}

/// One row of the table, resolved.
struct Case {
  Metric metric;
  std::vector<int> at;
  std::uint64_t seed;

  DType dtype(Factor f) const { return static_cast<DType>(at[f]); }
  Index nb() const { return kBaseRows[at[base_rows]]; }
  Index nq() const { return kQueryRows[at[query_rows]]; }
  Index d() const { return kCols[at[cols]]; }
  Index neighbours() const {
    const Index ks[] = {1, 2, nb() - 1, nb(), nb() + 1, 10};
    return std::max<Index>(1, ks[at[k]]);
  }
  SelfMode self_mode() const { return kSelfModes[at[self]]; }
  bool skip_nan() const { return at[nan] == 1; }

  std::string describe() const {
    return fmt::format("{} seed {}: base {} {} [{}, {}] {}, queries {} {} [{}], k {}, self {}, nan {}, {}, screen {}, tile {}, threads {}, segmented {}, {}, {}",
                       name_of(metric), seed, name_of(dtype(base_dtype)), name_of(static_cast<Layout>(at[base_layout])), nb(), d(),
                       name_of(static_cast<Kind>(at[kind])), name_of(dtype(query_dtype)), name_of(static_cast<Layout>(at[query_layout])), nq(),
                       neighbours(), name_of(self_mode()), skip_nan() ? "skip" : "error", name_of(kSchedules[at[schedule]]), name_of(kScreens[at[screen]]),
                       kTiles[at[tile]], at[threads] + 1, at[segmented], at[wide] ? "float64" : "float32", at[prune] ? "pruned" : "not pruned");
  }
};

/// Data that the type can hold: integers get some spread, float16 no infinities.
void adapt(Matrix& m, DType dtype) {
  for (double& v : m.values) {
    if (is_integer(dtype)) v *= 40;
    if (dtype == DType::f16) v = std::clamp(v, -6e4, 6e4);
  }
}

void sprinkle(Matrix& m) {
  constexpr double kBad[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (Index i = 2; i < m.rows; i += 7) m.row(i)[i % m.cols] = kBad[i % 3];
}

/// The stored rows of a case; in a self mode the queries are a slice of the base.
struct Data {
  Stored base;
  Stored queries;
  RowSet base_rows;
  RowSet query_rows;
};

Matrix rows_for(const Case& c, DType dtype, Index rows, std::mt19937_64& random) {
  Matrix m = make(static_cast<Kind>(c.at[kind]), rows, c.d(), random);
  adapt(m, dtype);
  if (c.skip_nan()) sprinkle(m);
  return m;
}

Data data_of(const Case& c) {
  std::mt19937_64 random(c.seed);
  const Matrix base = rows_for(c, c.dtype(base_dtype), c.nb(), random);
  Matrix queries = rows_for(c, c.dtype(query_dtype), c.nq(), random);
  // Half of the queries are base rows, so that zero distances occur.
  for (Index i = 0; i < queries.rows && c.nb() > 0; i += 2) std::copy_n(base.row((3 * i) % c.nb()), c.d(), queries.row(i));
  adapt(queries, c.dtype(query_dtype) == DType::f16 ? DType::f16 : DType::f64);
  Data data{Stored(base, c.dtype(base_dtype), static_cast<Layout>(c.at[base_layout])),
            Stored(queries, c.dtype(query_dtype), static_cast<Layout>(c.at[query_layout])), {}, {}};
  data.base_rows = data.base.rows();
  data.base_rows.first_id = kFirstId;
  data.query_rows = data.queries.rows();
  if (c.self_mode() != SelfMode::none) {
    const Index first = c.nb() / 3;
    data.query_rows = slice(data.base_rows, first, std::min(c.nb(), first + c.nq()));
  }
  return data;
}

KnnOptions options_of(const Case& c, Index nq) {
  KnnOptions o{.metric = {c.metric}, .self = c.self_mode()};
  o.nan = c.skip_nan() ? NanPolicy::skip : NanPolicy::error;
  o.distances = c.at[wide] ? DistanceType::float64 : DistanceType::float32;
  o.schedule = kSchedules[c.at[schedule]];
  o.screen = kScreens[c.at[screen]];
  o.tile = kTiles[c.at[tile]];
  o.prune = c.at[prune] ? Pruning::on : Pruning::off;
  o.threads = c.at[threads] + 1;
  if (c.at[segmented] == 1 && c.nb() > 0) {
    o.tile = 48;
    // Room for a little over one tile, and for the lists that the budget also has to hold.
    const Index words = std::max(c.d() + 1, (c.d() + 3) / 4 + 4);  // of a row as floats, and as 8-bit integers
    const Index bytes = std::max(50 * words * 4 * 4 / 3 + 64, nq * c.neighbours() * 16 + 64);
    o.memory = static_cast<std::uint64_t>(bytes);
  }
  return o;
}

bool unprunable(Metric metric, Screen wish) {
  return metric == Metric::inner_product || wish == Screen::fp32_dot || wish == Screen::int8 || wish == Screen::double_precision;
}

bool unavailable(Metric metric, Screen wish) {
  if (wish == Screen::fp32_dot || wish == Screen::int8) return metric == Metric::l1 || metric == Metric::linf;
  return wish == Screen::fp32_direct && metric == Metric::inner_product;
}

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
      if (unavailable(c.metric, options.screen)) {
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
