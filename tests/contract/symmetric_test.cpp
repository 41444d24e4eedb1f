// SPDX-License-Identifier: Apache-2.0
// The symmetric schedule gives the answers of all others, whatever the rows: each pair once, to both of its rows, each by its own threshold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>

#include "contract/certificate.hpp"
#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "contract/pairwise.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

constexpr std::uint64_t kSeed = 271828;
constexpr Metric kMetrics[] = {Metric::l2, Metric::sqeuclidean, Metric::cosine, Metric::inner_product};
constexpr Screen kScreens[] = {Screen::fp32_dot, Screen::int8};
constexpr SelfMode kSelfModes[] = {SelfMode::none, SelfMode::natural, SelfMode::exclude, SelfMode::first};
constexpr Index kRows[] = {1, 47, 48, 97, 150, 291};  // around blocks of 48 rows: none, one, several, even and odd numbers of them
constexpr Index kCols[] = {1, 3, 17, 40};
constexpr DType kTypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::u8, DType::i32};

/// Rows of a type, of data that it can hold.
Matrix rows_of(DType dtype, int number, Index rows, Index cols, std::mt19937_64& random) {
  if (dtype == DType::f64) return hurtful(number, rows, cols, random);
  Matrix m = make(static_cast<Kind>(number % kKindCount), rows, cols, random);
  for (double& v : m.values) {
    if (is_integer(dtype)) v *= 40;
    if (dtype == DType::f16) v = std::clamp(v, -6e4, 6e4);
  }
  return m;
}

ErrorCode code_of(const RowSet& queries, const RowSet& base, const KnnOptions& options) {
  try {
    knn(queries, base, 3, options);
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::internal;
}

class Symmetric : public ::testing::TestWithParam<Metric> {};

TEST_P(Symmetric, MeetsTheOracleBitForBit) {
  enum { kind, rows, cols, k, self, skip, screen, tile, threads, wide, type, layout };
  const std::vector<int> levels{kHurtfulCount, static_cast<int>(std::size(kRows)), static_cast<int>(std::size(kCols)), 5, 4, 2, 2, 2, 3, 2, static_cast<int>(std::size(kTypes)), kLayoutCount};
  std::uint64_t seed = kSeed + static_cast<std::uint64_t>(GetParam());
  for (const std::vector<int>& at : pairwise(levels, seed)) {
    std::mt19937_64 random(++seed);
    Matrix points = rows_of(kTypes[at[type]], at[kind], kRows[at[rows]], kCols[at[cols]], random);
    for (Index i = 5; i < points.rows && at[skip] == 1; i += 11) points.row(i)[i % points.cols] = std::numeric_limits<double>::quiet_NaN();
    const Stored stored(points, kTypes[at[type]], static_cast<Layout>(at[layout]));
    RowSet base = stored.rows();
    base.first_id = 7;
    const Index ks[] = {1, 2, 10, std::max<Index>(1, base.rows - 1), base.rows + 1};
    KnnOptions options{.metric = {GetParam()}, .self = kSelfModes[at[self]], .nan = at[skip] == 1 ? NanPolicy::skip : NanPolicy::error};
    options.screen = kScreens[at[screen]];
    options.symmetric = Symmetry::on;
    options.tile = at[tile] == 1 ? 96 : 48;
    options.threads = at[threads] + 1;
    options.distances = at[wide] == 1 ? DistanceType::float64 : DistanceType::float32;
    const Index wanted = ks[at[k]];
    const oracle::Answer want = oracle::knn(base, base, {.metric = GetParam(), .self = options.self, .skip_nan = at[skip] == 1, .k = wanted});
    for (const std::string& isa : isas()) {
      SCOPED_TRACE(fmt::format("{}, data {} {} {}, [{}, {}], k {}, self {}, {}, {}, tile {}, threads {}", isa, at[kind], name_of(kTypes[at[type]]), name_of(static_cast<Layout>(at[layout])), base.rows, base.cols, wanted, name_of(options.self),
                               at[skip] == 1 ? "skip" : "error", name_of(options.screen), options.tile, options.threads));
      const ForcedIsa forced(isa);
      std::optional<Neighbours> got;
      EXPECT_NO_THROW(got = knn(base, base, wanted, options));
      if (!got) return;
      EXPECT_TRUE(got->report.symmetric);
      EXPECT_EQ(got->report.pairs, static_cast<double>(base.rows * base.rows));
      ASSERT_TRUE(same_bits(*got, want));
    }
  }
}

TEST_P(Symmetric, LeavesOutWhatAFilterDeniesAndAnswersItAllTheSame) {
  std::mt19937_64 random(kSeed);
  Matrix points = make(Kind::zero_rows, 250, 20, random);
  points.row(33)[0] = std::numeric_limits<double>::quiet_NaN();
  const RowSet base = points.view();
  RowFilter filter{.kind = RowFilter::Kind::deny, .ids = {33}};
  for (Index i = 0; i < 250; i += 1 + static_cast<Index>(random() % 5)) filter.ids.push_back(i);
  for (const SelfMode self : kSelfModes) {
    for (const Screen screen : kScreens) {
      KnnOptions options{.metric = {GetParam()}, .self = self, .nan = NanPolicy::skip, .filter = filter, .screen = screen, .symmetric = Symmetry::off, .tile = 48, .threads = 2};
      const Neighbours want = knn(base, base, 9, options);
      EXPECT_FALSE(want.report.symmetric);
      options.symmetric = Symmetry::on;
      const Neighbours got = knn(base, base, 9, options);
      EXPECT_TRUE(got.report.symmetric);
      EXPECT_TRUE(same_bits(got, want)) << name_of(self) << ", " << name_of(screen);
      EXPECT_EQ(got.report.denied_base, want.report.denied_base);
      EXPECT_EQ(got.report.skipped_base, want.report.skipped_base);
      const PreparedBase prepared(base, options);
      EXPECT_TRUE(same_bits(prepared.search(base, 9), want)) << "prepared, " << name_of(self) << ", " << name_of(screen);
      EXPECT_TRUE(prepared.search(base, 9).report.symmetric);
    }
  }
}

/// Blocks are many, thresholds fall while others read them.
TEST_P(Symmetric, GivesTheSameBytesByAnyNumberOfThreads) {
  std::mt19937_64 random(kSeed);
  for (const Kind kind : {Kind::normal, Kind::small_integers, Kind::all_equal}) {
    const Matrix points = make(kind, 1000, 24, random);
    for (const Screen screen : kScreens) {
      KnnOptions options{.metric = {GetParam()}, .self = SelfMode::exclude, .screen = screen, .symmetric = Symmetry::off, .tile = 48, .threads = 1};
      const Neighbours want = knn(points.view(), points.view(), 6, options);
      options.symmetric = Symmetry::on;
      for (const int threads : {1, 2, 3}) {
        options.threads = threads;
        EXPECT_TRUE(same_bits(knn(points.view(), points.view(), 6, options), want)) << name_of(kind) << ", " << name_of(screen) << ", threads " << threads;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, Symmetric, ::testing::ValuesIn(kMetrics), [](const auto& p) { return std::string(name_of(p.param)); });

TEST(SymmetricPlan, IsRefusedWhereATileCannotServeBothSides) {
  std::mt19937_64 random(kSeed);
  const Matrix points = make(Kind::normal, 300, 20, random);
  const RowSet base = points.view();
  const KnnOptions on{.self = SelfMode::exclude, .screen = Screen::fp32_dot, .symmetric = Symmetry::on};
  EXPECT_EQ(code_of(slice(base, 0, 299), base, on), ErrorCode::unsupported);
  RowSet renumbered = base;
  renumbered.first_id = 1;  // the same rows, but each one's own id is another's
  EXPECT_EQ(code_of(renumbered, base, on), ErrorCode::unsupported);
  KnnOptions options = on;
  options.screen = Screen::double_precision;
  EXPECT_EQ(code_of(base, base, options), ErrorCode::unsupported);
  options = on;
  options.schedule = Schedule::by_base;
  EXPECT_EQ(code_of(base, base, options), ErrorCode::unsupported);
  options = on;
  options.tile = 48;
  options.memory = 24000;  // the base in segments
  EXPECT_EQ(code_of(base, base, options), ErrorCode::unsupported);
  options.memory = 80000;  // the base whole, but not what every row keeps
  EXPECT_EQ(code_of(base, base, options), ErrorCode::out_of_memory);
  options.symmetric = Symmetry::automatic;
  EXPECT_FALSE(knn(base, base, 3, options).report.symmetric);
}

TEST(SymmetricPlan, IsTakenForLargeSetsByItself) {
  std::mt19937_64 random(kSeed);
  const Matrix points = make(Kind::normal, 9000, 16, random);
  KnnOptions options{.self = SelfMode::exclude, .screen = Screen::fp32_dot, .tile = 960, .threads = 2};
  const Neighbours got = knn(points.view(), points.view(), 5, options);
  EXPECT_TRUE(got.report.symmetric);
  options.symmetric = Symmetry::off;
  const Neighbours want = knn(points.view(), points.view(), 5, options);
  EXPECT_FALSE(want.report.symmetric);
  EXPECT_TRUE(same_bits(got, want));
  const Neighbours small = knn(slice(points.view(), 0, 2000), slice(points.view(), 0, 2000), 5, {.self = SelfMode::exclude});
  EXPECT_FALSE(small.report.symmetric);
}

TEST(SymmetricRun, StopsAndReportsProgressAsOthersDo) {
  std::mt19937_64 random(kSeed);
  const Matrix points = make(Kind::normal, 2000, 32, random);
  KnnOptions options{.self = SelfMode::exclude, .screen = Screen::fp32_dot, .symmetric = Symmetry::on, .tile = 48, .threads = 2};
  double last = 0;
  options.progress = [&](const Progress& p) {
    if (p.phase != "search") return;
    EXPECT_GE(p.done, last);
    EXPECT_LE(p.done, p.total * (1 + 1e-9));
    last = p.done;
  };
  knn(points.view(), points.view(), 4, options);
  EXPECT_EQ(last, 2000.0 * 2000.0);
  std::stop_source stop;
  options.stop = stop.get_token();
  options.progress = [&](const Progress& p) {
    if (p.phase == "search") stop.request_stop();
  };
  EXPECT_EQ(code_of(points.view(), points.view(), options), ErrorCode::cancelled);
}

/// A row, one that ties with it but for what half a bound does not cover, and a nearer one in another block. `query_block`: 0, the row's threshold has to keep
/// the pair; 1, the column's.
void expect_found_out_from(Index query_block, Metric metric, const Matrix& query, const Matrix& competitor, const Matrix& target) {
  constexpr Index kTile = 48;  // a whole number of panels on every instruction set
  Matrix m = zeros(2 * kTile, query.cols);
  for (Index i = 0; i < m.rows; ++i) {
    const Index in_block = i % kTile;
    const Matrix& source = i / kTile != query_block ? target : in_block < 2 ? query : competitor;
    for (Index t = 0; t < m.cols; ++t) m.row(i)[t] = source.values[static_cast<std::size_t>(t)] * (i % 2 == 1 ? -1 : 1);  // mirror images: the mean is 0
  }
  const Index asked = query_block * kTile;
  const Stored rows(m, DType::f32);
  const oracle::Answer want = oracle::knn(rows.rows(), rows.rows(), {.metric = metric, .self = SelfMode::exclude, .k = 1});
  const auto at = static_cast<std::size_t>(asked);
  ASSERT_EQ(want.ids[at], (1 - query_block) * kTile) << "the construction is wrong: another row is nearest";
  const KnnOptions options{.metric = {metric}, .self = SelfMode::exclude, .screen = Screen::fp32_dot, .symmetric = Symmetry::on, .tile = kTile, .threads = 1};
  EXPECT_EQ(engine::search_streaming(rows.rows(), rows.rows(), 1, options, 1.0).ids[at], want.ids[at]) << "the certificate is broken";
  EXPECT_NE(engine::search_streaming(rows.rows(), rows.rows(), 1, options, 0.5).ids[at], want.ids[at]) << "a broken bound went unnoticed";
}

TEST(SymmetricCertificate, IsFoundOutOnBothSides) {
  for (const std::string& isa : isas()) {
    const ForcedIsa forced(isa);
    for (const Index query_block : {0, 1}) {
      SCOPED_TRACE(fmt::format("{}, query in block {}", isa, query_block));
      const Matrix query = chain_row(1000, kLostFactor);
      Matrix competitor = query;
      competitor.values[0] += 0x1p-8;
      expect_found_out_from(query_block, Metric::sqeuclidean, query, competitor, query);
      competitor = zeros(1, 1000);
      competitor.values[0] = 1 + 700 * 0x1p-24;  // the target's product is 1 + 999 such units, of which its score loses all
      expect_found_out_from(query_block, Metric::inner_product, query, competitor, query);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
