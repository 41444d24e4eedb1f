// SPDX-License-Identifier: Apache-2.0
// Periodic searches against the oracle: the shared cases of tests/data/cases/periodic.json, random cells of every temper, and what must not
// change an answer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>

#include "contract/compare.hpp"
#include "contract/periodic_oracle.hpp"
#include "support/isas.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

using nlohmann::json;

constexpr double kCaseTolerance = 1e-12;  // the case files' own words

constexpr Screen kScreens[] = {Screen::automatic, Screen::fp32_direct, Screen::double_precision};

const json& cases() {
  static const json all = json::parse(std::ifstream(TESSERA_TEST_DATA "/cases/periodic.json"))["cases"];
  return all;
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& [name, value] : cases().items()) names.push_back(name);
  return names;
}

Matrix points_of(const json& rows) {
  Matrix m{std::ssize(rows), 3, {}};
  for (const json& row : rows) {
    for (const json& value : row) m.values.push_back(std::stod(value.get<std::string>()));
  }
  return m;
}

Cell cell_of(const json& j) {
  Cell cell;
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t c = 0; c < 3; ++c) cell.rows[a][c] = std::stod(j["cell_rows"][a][c].get<std::string>());
    cell.pbc[a] = j["pbc"][a].get<bool>();
  }
  return cell;
}

KnnOptions options_for(const Cell& cell, SelfMode self = SelfMode::none) {
  return {.metric = {.metric = Metric::periodic, .cell = cell}, .self = self, .distances = DistanceType::float64};
}

/// Lists of all images within the case's radius, and none that is missing or too many.
void check_images(const json& want, const Matrix& points, KnnOptions options) {
  options.images = Images::all;
  options.self = SelfMode::exclude;
  options.shifts = true;
  for (std::size_t q = 0; q < want["rows"].size(); ++q) {
    const json& rows = want["rows"][q];
    const auto k = static_cast<Index>(rows.size()) + 1;  // one more lies past the radius
    const Neighbours got = knn(points.view(), points.view(), k, options);
    const std::size_t first = q * static_cast<std::size_t>(k);
    for (std::size_t s = 0; s < rows.size(); ++s) {
      ASSERT_EQ(got.ids[first + s], rows[s][0].get<std::int64_t>()) << "query " << q << ", entry " << s;
      ASSERT_NEAR(got.distances64[first + s], rows[s][2].get<double>(), kCaseTolerance);
      for (std::size_t a = 0; a < 3; ++a) ASSERT_EQ(got.shifts[3 * (first + s) + a], rows[s][1][a].get<int>()) << "query " << q << ", entry " << s;
    }
    ASSERT_GT(got.distances64[first + rows.size()], want["r"].get<double>());
  }
}

class PeriodicCase : public ::testing::TestWithParam<std::string> {};

TEST_P(PeriodicCase, IsAnsweredAsWritten) {
  const json& j = cases()[GetParam()];
  const std::set<std::string> known = {"points", "cell_rows", "pbc", "note", "distance_matrix", "knn_mic", "knn_images"};
  for (const auto& [key, value] : j.items()) ASSERT_TRUE(known.contains(key)) << "the key " << key << " is not understood";
  const Matrix points = points_of(j["points"]);
  const Cell cell = cell_of(j);
  for (const std::string& isa : isas()) {
    const ForcedIsa forced(isa);
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(fmt::format("{}, threads {}", isa, threads));
      KnnOptions options = options_for(cell);
      options.threads = threads;
      const Neighbours all = knn(points.view(), points.view(), points.rows, options);
      for (std::size_t s = 0; s < all.ids.size(); ++s) {
        const auto q = s / static_cast<std::size_t>(points.rows);
        ASSERT_NEAR(all.distances64[s], j["distance_matrix"][q][static_cast<std::size_t>(all.ids[s])].get<double>(), kCaseTolerance);
      }
      if (j.contains("knn_images")) check_images(j["knn_images"], points, options);
      if (!j.contains("knn_mic")) continue;
      const auto k = j["knn_mic"]["k"].get<Index>();
      options.self = SelfMode::exclude;
      const Neighbours lists = knn(points.view(), points.view(), k, options);
      for (std::size_t s = 0; s < lists.ids.size(); ++s) {
        const json& entry = j["knn_mic"]["rows"][s / static_cast<std::size_t>(k)][s % static_cast<std::size_t>(k)];
        ASSERT_EQ(lists.ids[s], entry[1].get<std::int64_t>());
        ASSERT_NEAR(lists.distances64[s], entry[0].get<double>(), kCaseTolerance);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, PeriodicCase, ::testing::ValuesIn(case_names()), [](const auto& p) { return p.param; });

constexpr SelfMode kSelfModes[] = {SelfMode::none, SelfMode::natural, SelfMode::exclude, SelfMode::first};

TEST(Periodic, MeetsTheOracleInRandomCells) {
  std::mt19937_64 random(20);
  for (int i = 0; i < 300; ++i) {
    const Cell cell = oracle::random_cell(random);
    const Index n = 1 + static_cast<Index>(random() % 70);
    const Matrix base = oracle::random_points(cell, n, i % 3 == 0 ? 0.2 : 1.5, random);
    const Matrix others = oracle::random_points(cell, 1 + static_cast<Index>(random() % 20), 1.5, random);
    const Index k = 1 + static_cast<Index>(random() % static_cast<unsigned>(n + 2));
    KnnOptions options = options_for(cell, kSelfModes[random() % 4]);
    const bool own = options.self != SelfMode::none;
    const Stored stored(base, i % 5 == 0 ? DType::f32 : DType::f64);
    const Stored asked(others, i % 7 == 0 ? DType::f32 : DType::f64);
    const RowSet queries = own ? stored.rows() : asked.rows();
    const oracle::Answer want = oracle::periodic_knn(queries, stored.rows(), cell, {.metric = Metric::periodic, .self = options.self, .k = k});
    for (const std::string& isa : isas()) {
      const ForcedIsa forced(isa);
      options.screen = kScreens[random() % 3];
      options.threads = 1 + static_cast<int>(random() % 2);
      options.schedule = random() % 2 == 0 ? Schedule::by_query : Schedule::by_base;
      options.tile = random() % 2 == 0 ? 0 : 48;
      options.prune = options.screen == Screen::double_precision ? Pruning::automatic : random() % 2 == 0 ? Pruning::on : Pruning::off;
      ASSERT_TRUE(same_bits(knn(queries, stored.rows(), k, options), want)) << fmt::format("cell {}, {}, n {}, k {}, screen {}", i, isa, n, k, name_of(options.screen));
    }
  }
}

TEST(Periodic, GivesTheSameBytesForLargeBasesAsWithoutAnyScreen) {
  // Large enough for every way of leaving work out; spread over the cell, in a droplet, and in a slab.
  std::mt19937_64 random(26);
  std::uniform_real_distribution<double> unit(0, 1);
  for (const char* text : {"10 12 14", "10 12 14 60 70 80", "10 12 60 90 90 120"}) {
    const Cell cell = parse_cell(text);
    for (const double part : {1.0, 0.3}) {
      Matrix points = zeros(8000, 3);
      for (Index i = 0; i < points.rows; ++i) {
        for (std::size_t a = 0; a < 3; ++a) {
          const double f = (a == 2 || part < 1 ? part : 1.0) * unit(random);
          for (std::size_t c = 0; c < 3; ++c) points.row(i)[c] += f * cell.rows[a][c];
        }
      }
      Matrix some = zeros(48, 3);
      for (Index i = 0; i < some.rows; ++i) std::copy_n(points.row(160 * i), 3, some.row(i));
      KnnOptions options = options_for(cell);
      const Neighbours screened = knn(some.view(), points.view(), 20, options);
      const Neighbours own = knn(points.view(), points.view(), 20, options);
      options.screen = Screen::double_precision;
      const Neighbours plain = knn(some.view(), points.view(), 20, options);
      ASSERT_TRUE(same_bits(screened, plain)) << text << ", part " << part;
      for (Index i = 0; i < some.rows; ++i) {
        for (Index j = 0; j < 20; ++j) ASSERT_EQ(own.ids[static_cast<std::size_t>(160 * i * 20 + j)], plain.ids[static_cast<std::size_t>(i * 20 + j)]) << text << ", part " << part;
      }
    }
  }
}

/// Points as simulations have them: everywhere, a slab, a droplet, a line of pairs, most of them several cells away from the first.
Matrix crowd(const Cell& cell, Index rows, int kind, std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> whole(-3, 3);
  Matrix points = zeros(rows, 3);
  for (Index i = 0; i < rows; ++i) {
    double f[3] = {unit(random), unit(random), unit(random)};
    if (kind == 1) f[2] = 0.48 + 0.04 * f[2];                         // across a face when shifted below
    if (kind == 2) for (double& x : f) x = 0.02 * normal(random);     // around a corner
    if (kind == 3) f[0] = f[1] = 0.5 + 1e-6 * static_cast<double>(i % 2);
    for (std::size_t a = 0; a < 3; ++a) {
      const double steps = cell.pbc[a] ? f[a] + (i % 4 == 0 ? whole(random) : 0) : f[a];
      for (std::size_t c = 0; c < 3; ++c) points.row(i)[c] += steps * (cell.rows[a][c] != 0 || cell.pbc[a] ? cell.rows[a][c] : a == c ? 7.0 : 0.0);
    }
  }
  return points;
}

TEST(Periodic, GivesTheSameBytesPrunedOrNot) {
  std::mt19937_64 random(27);
  double pruned = 0;
  for (int i = 0; i < 160; ++i) {
    const Cell cell = oracle::random_cell(random);
    const Index n = 200 + static_cast<Index>(random() % 800);
    const Matrix base = crowd(cell, n, i % 4, random);
    const Matrix others = crowd(cell, 100, i % 3, random);
    const Index ks[] = {1, 10, n / 2, n - 1, n + 1};
    const Index k = ks[random() % (i % 8 == 0 ? 5 : 2)];
    KnnOptions options = options_for(cell, kSelfModes[random() % 4]);
    const RowSet queries = options.self != SelfMode::none ? base.view() : others.view();
    options.threads = 1 + static_cast<int>(random() % 2);
    options.shifts = random() % 2 == 0;
    const auto& isa = isas()[random() % isas().size()];
    const ForcedIsa forced(isa);
    options.prune = Pruning::off;
    const Neighbours want = knn(queries, base.view(), k, options);
    options.prune = Pruning::on;
    options.tile = random() % 2 == 0 ? 0 : 96;
    const Neighbours got = knn(queries, base.view(), k, options);
    ASSERT_TRUE(got.report.pruned);
    ASSERT_TRUE(same_bits(got, want)) << fmt::format("cell {}, {}, n {}, k {}", i, isa, n, k);
    ASSERT_EQ(got.shifts, want.shifts);
    pruned += got.report.pruned_fraction;
  }
  EXPECT_GT(pruned, 20) << "hardly anything was left out";
}

TEST(Periodic, ListsTheSameImagesPrunedOrNot) {
  std::mt19937_64 random(28);
  for (int i = 0; i < 40; ++i) {
    const Cell cell = oracle::random_cell(random);
    const Matrix base = crowd(cell, 60, i % 4, random);
    KnnOptions options = options_for(cell, i % 2 == 0 ? SelfMode::exclude : SelfMode::natural);
    options.images = Images::all;
    options.shifts = true;
    options.prune = Pruning::off;
    const Neighbours want = knn(base.view(), base.view(), 9, options);
    options.prune = Pruning::on;
    const Neighbours got = knn(base.view(), base.view(), 9, options);
    ASSERT_TRUE(same_bits(got, want)) << "cell " << i;
    ASSERT_EQ(got.shifts, want.shifts);
  }
}

TEST(Periodic, PrunesLinesAndPlanes) {
  std::mt19937_64 random(29);
  std::uniform_real_distribution<double> place(-40, 40);
  for (const Index cols : {1, 2}) {
    Matrix points = zeros(3000, cols);
    for (double& v : points.values) v = place(random);
    for (const Cell& cell : cols == 1 ? std::vector{parse_cell("17")} : std::vector{parse_cell("17 15"), parse_cell("17 0.5 13 15"), Cell{{{{0, 0, 0}, {3, 5, 0}, {0, 0, 0}}}, {false, true, false}}}) {
      KnnOptions options = options_for(cell, SelfMode::exclude);
      const Neighbours got = knn(points.view(), points.view(), 7, options);
      EXPECT_TRUE(got.report.pruned);
      EXPECT_GT(got.report.pruned_fraction, 0.5);
      options.prune = Pruning::off;
      EXPECT_TRUE(same_bits(got, knn(points.view(), points.view(), 7, options))) << cols;
    }
  }
}

TEST(Periodic, FillsAMatrixWithTheSameDistances) {
  std::mt19937_64 random(23);
  for (int i = 0; i < 20; ++i) {
    const Cell cell = oracle::random_cell(random);
    const Matrix points = oracle::random_points(cell, 40, 1.5, random);
    DistanceOptions options;
    options.metric = {.metric = Metric::periodic, .cell = cell};
    options.exact = true;  // else within the bound of dumps: periodic_metamorphic_test.cpp
    DistanceArray matrix;
    distance_matrix(points.view(), options, matrix);
    ASSERT_EQ(matrix.shape().dtype, DType::f32);
    const auto* values = reinterpret_cast<const float*>(matrix.data());
    for (Index a = 0; a < 40; ++a) {
      for (Index b = 0; b < 40; ++b) {
        const oracle::Image image = oracle::nearest_image(cell, {points.row(a), points.row(a) + 3}, {points.row(b), points.row(b) + 3});
        ASSERT_EQ(values[a * 40 + b], static_cast<float>(std::sqrt(image.key)));
      }
    }
  }
}

TEST(Periodic, TakesPointsOfOneAndTwoColumns) {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> place(-20, 20);
  for (const Index cols : {1, 2}) {
    Matrix points = zeros(60, cols);
    for (double& v : points.values) v = place(random);
    for (const Cell& cell : cols == 1 ? std::vector{parse_cell("7")} : std::vector{parse_cell("7 5"), parse_cell("7 0.5 3 5"), Cell{{{{0, 0, 0}, {3, 5, 0}, {0, 0, 0}}}, {false, true, false}}}) {
      const oracle::Answer want = oracle::periodic_knn(points.view(), points.view(), cell, {.metric = Metric::periodic, .self = SelfMode::exclude, .k = 7});
      for (const Screen screen : kScreens) {
        KnnOptions options = options_for(cell, SelfMode::exclude);
        options.screen = screen;
        EXPECT_TRUE(same_bits(knn(points.view(), points.view(), 7, options), want)) << name_of(screen);
      }
    }
  }
}

TEST(Periodic, TellsTheShifts) {
  std::mt19937_64 random(24);
  for (int i = 0; i < 40; ++i) {
    const Cell cell = oracle::random_cell(random);
    const Matrix points = oracle::random_points(cell, 30, 3, random);
    KnnOptions options = options_for(cell, SelfMode::exclude);
    options.shifts = true;
    const Neighbours got = knn(points.view(), points.view(), 40, options);
    ASSERT_EQ(got.shifts.size(), 3 * got.ids.size());
    for (std::size_t s = 0; s < got.ids.size(); ++s) {
      const auto q = static_cast<Index>(s) / 40;
      oracle::Shift want{};
      if (got.ids[s] >= 0) want = oracle::nearest_image(cell, {points.row(q), points.row(q) + 3}, {points.row(got.ids[s]), points.row(got.ids[s]) + 3}).shift;
      for (std::size_t a = 0; a < 3; ++a) ASSERT_EQ(got.shifts[3 * s + a], want[a]) << "cell " << i << ", slot " << s;
    }
  }
}

TEST(Periodic, ListsAllImagesByDistanceRowAndShift) {
  std::mt19937_64 random(25);
  for (int i = 0; i < 120; ++i) {
    const Cell cell = oracle::random_cell(random);
    const Index n = 1 + static_cast<Index>(random() % 9);
    const Matrix base = oracle::random_points(cell, n, 1.5, random);
    const Matrix others = oracle::random_points(cell, 3, 3, random);
    const bool own = random() % 2 == 0;
    const Matrix& asked = own ? base : others;
    KnnOptions options = options_for(cell, own ? (random() % 2 == 0 ? SelfMode::exclude : SelfMode::natural) : SelfMode::none);
    options.images = Images::all;
    options.shifts = true;
    options.screen = kScreens[random() % 3];
    const auto k = static_cast<Index>(1 + random() % 25);
    const Neighbours got = knn(asked.view(), base.view(), k, options);
    for (Index q = 0; q < asked.rows; ++q) {
      SCOPED_TRACE(fmt::format("cell {}, query {}, n {}, k {}", i, q, n, k));
      const auto at = [&](Index s) { return static_cast<std::size_t>(q * k + s); };
      const double radius = got.ids[at(k - 1)] < 0 ? 1e9 : got.distances64[at(k - 1)] * (1 + 1e-9);
      struct Found {
        double key;
        Index id;
        oracle::Shift shift;
      };
      std::vector<Found> want;
      for (Index b = 0; b < n; ++b) {
        const auto x = std::vector<double>(asked.row(q), asked.row(q) + 3);
        const auto y = std::vector<double>(base.row(b), base.row(b) + 3);
        if (got.ids[at(k - 1)] < 0) {  // nothing repeats: a list may end
          ASSERT_EQ(cell.pbc, (std::array<bool, 3>{}));
          if (options.self != SelfMode::exclude || b != q) want.push_back({oracle::image_key(cell, x, y, {}), b, {}});
          continue;
        }
        for (const oracle::Image& image : oracle::images_within(cell, x, y, radius)) {
          if (options.self == SelfMode::exclude && b == q && image.shift == oracle::Shift{}) continue;
          want.push_back({image.key, b, image.shift});
        }
      }
      std::ranges::sort(want, [](const Found& a, const Found& b) { return std::tie(a.key, a.id, a.shift) < std::tie(b.key, b.id, b.shift); });
      for (Index s = 0; s < k; ++s) {
        if (s >= std::ssize(want)) {
          ASSERT_EQ(got.ids[at(s)], -1);
          continue;
        }
        const Found& w = want[static_cast<std::size_t>(s)];
        ASSERT_EQ(got.ids[at(s)], w.id) << "entry " << s;
        ASSERT_EQ(got.distances64[at(s)], std::sqrt(w.key)) << "entry " << s;
        for (std::size_t a = 0; a < 3; ++a) ASSERT_EQ(got.shifts[3 * at(s) + a], w.shift[a]) << "entry " << s;
      }
    }
  }
}

TEST(Periodic, CountsNeighboursPastHalfTheCell) {
  const Matrix points{3, 3, {0, 0, 0, 0.4, 0, 0, 0.5, 0.5, 0}};
  const Neighbours one = knn(points.view(), points.view(), 1, options_for(parse_cell("1 1 1"), SelfMode::exclude));
  EXPECT_EQ(one.report.half_cell, 0.5);
  EXPECT_EQ(one.report.beyond_half_cell, 1);  // the third row's nearest is at 0.51
  EXPECT_EQ(knn(points.view(), points.view(), 2, options_for(parse_cell("1 1 1"), SelfMode::exclude)).report.beyond_half_cell, 3);
}

TEST(Periodic, PadsAListPastTheOtherRows) {
  const Matrix points{2, 3, {0, 0, 0, 0.6, 0.6, 0.6}};
  const Neighbours got = knn(points.view(), points.view(), 4, options_for(parse_cell("1 1 1"), SelfMode::exclude));
  EXPECT_EQ(got.ids, (std::vector<std::int64_t>{1, -1, -1, -1, 0, -1, -1, -1}));
}

TEST(Periodic, IsPlainDistanceWhereNothingRepeats) {
  std::mt19937_64 random(22);
  const Matrix points = make(Kind::normal, 80, 3, random);
  Cell cell = parse_cell("1 1 1");
  cell.pbc = {false, false, false};
  KnnOptions plain{.metric = {.metric = Metric::l2}, .self = SelfMode::exclude};
  const Neighbours want = knn(points.view(), points.view(), 9, plain);
  KnnOptions open = options_for(cell, SelfMode::exclude);
  open.distances = DistanceType::float32;
  EXPECT_EQ(knn(points.view(), points.view(), 9, open).ids, want.ids);
}

TEST(Periodic, RefusesACallThatDoesNotFit) {
  const Matrix points = zeros(3, 3);
  const auto code = [&](const KnnOptions& options, const RowSet& rows) {
    try {
      knn(rows, rows, 1, options);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code({.metric = {.metric = Metric::periodic}}, points.view()), ErrorCode::invalid_argument) << "no cell";
  EXPECT_EQ(code({.metric = {.metric = Metric::l2, .cell = parse_cell("1 1 1")}}, points.view()), ErrorCode::invalid_argument) << "a cell, and no metric for it";
  EXPECT_EQ(code(options_for(parse_cell("1 1 1")), zeros(3, 4).view()), ErrorCode::invalid_argument) << "four columns";
  EXPECT_EQ(code(options_for(parse_cell("1 1 1")), zeros(3, 2).view()), ErrorCode::invalid_argument) << "a cell of three dimensions, points of two";
  Matrix far = points;
  far.values[4] = 1e9;
  EXPECT_EQ(code(options_for(parse_cell("1 1 1")), far.view()), ErrorCode::malformed_input) << "a billion cells away";
  EXPECT_EQ(code(options_for(parse_cell("1e6 1e6 1e6")), far.view()), ErrorCode::internal) << "a thousand cells away is fine";
}

}  // namespace
}  // namespace tessera::testing
