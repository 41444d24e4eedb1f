// SPDX-License-Identifier: Apache-2.0
// What must not change a periodic answer, or only in a way that is known: lattice vectors added to points, another basis of the same lattice, rotations,
// mirroring, exchanged sets, another order of rows. Coordinates and cells are multiples of 2^-10 where bits are compared: every operation is exact then.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "contract/compare.hpp"
#include "contract/periodic_oracle.hpp"
#include "support/isas.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

constexpr Index kRows = 2500;  // enough for pruning by itself
constexpr Index kNeighbours = 12;

/// Whole rows make whole-number steps of the cell.
Cell exact_cell(std::mt19937_64& random) {
  std::uniform_int_distribution<int> edge(3000, 12000);
  std::uniform_int_distribution<int> tilt(-9000, 9000);
  Cell cell;
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t c = 0; c < 3; ++c) cell.rows[a][c] = c == a ? std::ldexp(edge(random), -10) : c < a ? std::ldexp(tilt(random), -10) : 0.0;
    cell.pbc[a] = random() % 5 != 0;
  }
  if (random() % 3 == 0) cell.rows[1][0] = cell.rows[2][0] = cell.rows[2][1] = 0;
  return cell;
}

Matrix exact_points(Index rows, std::mt19937_64& random) {
  std::uniform_int_distribution<int> place(-20000, 20000);
  Matrix points = zeros(rows, 3);
  for (double& v : points.values) v = std::ldexp(place(random), -10);
  return points;
}

KnnOptions options_of(const Cell& cell, std::mt19937_64& random) {
  KnnOptions options{.metric = {.metric = Metric::periodic, .cell = cell}, .self = SelfMode::exclude, .distances = DistanceType::float64};
  options.threads = 1 + static_cast<int>(random() % 2);
  options.prune = random() % 4 == 0 ? Pruning::off : Pruning::automatic;
  return options;
}

Neighbours own_neighbours(const Matrix& points, const Cell& cell, std::mt19937_64& random) {
  return knn(points.view(), points.view(), kNeighbours, options_of(cell, random));
}

class Metamorphic : public ::testing::TestWithParam<int> {
 protected:
  std::mt19937_64 random{static_cast<std::uint64_t>(100 + GetParam())};
  Cell cell = exact_cell(random);
  Matrix points = exact_points(kRows, random);
};

TEST_P(Metamorphic, LatticeVectorsAddedToPointsChangeNoBit) {
  std::uniform_int_distribution<int> whole(-6, 6);
  Matrix moved = points;
  for (Index i = 0; i < kRows; ++i) {
    for (std::size_t a = 0; a < 3; ++a) {
      const double n = cell.pbc[a] ? whole(random) : 0;
      for (std::size_t c = 0; c < 3; ++c) moved.row(i)[c] += n * cell.rows[a][c];
    }
  }
  EXPECT_TRUE(same_bits(own_neighbours(moved, cell, random), own_neighbours(points, cell, random)));
}

TEST_P(Metamorphic, AnotherBasisOfTheLatticeChangesNoBit) {
  Cell other = cell;
  std::uniform_int_distribution<std::size_t> axis(0, 2);
  std::uniform_int_distribution<int> times(-2, 2);
  for (int step = 0; step < 6; ++step) {
    const std::size_t a = axis(random);
    const std::size_t b = (a + 1 + random() % 2) % 3;
    if (!cell.pbc[a] || !cell.pbc[b]) continue;
    const int n = times(random);
    for (std::size_t c = 0; c < 3; ++c) other.rows[a][c] += n * other.rows[b][c];
    if (random() % 2 == 0) {
      for (double& v : other.rows[b]) v = -v;  // left-handed, now or no longer
    }
  }
  EXPECT_TRUE(same_bits(own_neighbours(points, other, random), own_neighbours(points, cell, random)));
}

TEST_P(Metamorphic, QuarterTurnsAndMirrorsChangeNoBit) {
  std::array<std::size_t, 3> to = {0, 1, 2};
  std::ranges::shuffle(to, random);
  const double sign[3] = {random() % 2 == 0 ? 1.0 : -1.0, random() % 2 == 0 ? 1.0 : -1.0, random() % 2 == 0 ? 1.0 : -1.0};
  Matrix turned = points;
  Cell other = cell;
  for (std::size_t c = 0; c < 3; ++c) {
    for (Index i = 0; i < kRows; ++i) turned.row(i)[to[c]] = sign[c] * points.row(i)[c];
    for (std::size_t a = 0; a < 3; ++a) other.rows[a][to[c]] = sign[c] * cell.rows[a][c];
  }
  EXPECT_TRUE(same_bits(own_neighbours(turned, other, random), own_neighbours(points, cell, random)));
}

TEST_P(Metamorphic, RotationsMoveDistancesByRoundingOnly) {
  // Two reflections make a rotation.
  std::normal_distribution<double> normal;
  std::array<double, 3> u{normal(random), normal(random), normal(random)};
  std::array<double, 3> v{normal(random), normal(random), normal(random)};
  const auto reflect = [](const std::array<double, 3>& along, double* x) {
    const double product = along[0] * x[0] + along[1] * x[1] + along[2] * x[2];
    const double norm2 = along[0] * along[0] + along[1] * along[1] + along[2] * along[2];
    for (std::size_t c = 0; c < 3; ++c) x[c] -= 2 * product / norm2 * along[c];
  };
  Matrix turned = points;
  Cell other = cell;
  for (Index i = 0; i < kRows; ++i) reflect(u, turned.row(i)), reflect(v, turned.row(i));
  for (auto& row : other.rows) reflect(u, row.data()), reflect(v, row.data());
  const Neighbours a = own_neighbours(turned, other, random);
  const Neighbours b = own_neighbours(points, cell, random);
  for (std::size_t s = 0; s < a.distances64.size(); ++s) ASSERT_NEAR(a.distances64[s], b.distances64[s], 1e-11) << "slot " << s;
}

TEST_P(Metamorphic, ExchangedSetsGiveTheTransposedMatrix) {
  std::uniform_real_distribution<double> place(-30, 30);
  Matrix x = zeros(60, 3);
  Matrix y = zeros(90, 3);
  for (double& value : x.values) value = place(random);
  for (double& value : y.values) value = place(random);
  KnnOptions options = options_of(cell, random);
  options.self = SelfMode::none;
  options.prune = random() % 2 == 0 ? Pruning::on : Pruning::off;
  const Neighbours there = knn(x.view(), y.view(), y.rows, options);
  const Neighbours back = knn(y.view(), x.view(), x.rows, options);
  std::vector<double> matrix(static_cast<std::size_t>(x.rows * y.rows));
  for (Index q = 0; q < x.rows; ++q) {
    for (Index s = 0; s < y.rows; ++s) matrix[static_cast<std::size_t>(q * y.rows + there.ids[static_cast<std::size_t>(q * y.rows + s)])] = there.distances64[static_cast<std::size_t>(q * y.rows + s)];
  }
  for (Index q = 0; q < y.rows; ++q) {
    for (Index s = 0; s < x.rows; ++s) {
      const auto slot = static_cast<std::size_t>(q * x.rows + s);
      ASSERT_EQ(back.distances64[slot], matrix[static_cast<std::size_t>(back.ids[slot] * y.rows + q)]);
    }
  }
}

TEST_P(Metamorphic, AnotherOrderOfRowsPermutesTheIds) {
  std::uniform_real_distribution<double> nudge(0, 0x1p-11);
  for (double& value : points.values) value += nudge(random);  // no ties: they go by id
  std::vector<Index> from(static_cast<std::size_t>(kRows));
  std::iota(from.begin(), from.end(), Index{0});
  std::ranges::shuffle(from, random);
  Matrix mixed = zeros(kRows, 3);
  for (Index i = 0; i < kRows; ++i) std::copy_n(points.row(from[static_cast<std::size_t>(i)]), 3, mixed.row(i));
  const Neighbours a = own_neighbours(mixed, cell, random);
  const Neighbours b = own_neighbours(points, cell, random);
  for (Index i = 0; i < kRows; ++i) {
    for (Index s = 0; s < kNeighbours; ++s) {
      const auto slot = static_cast<std::size_t>(i * kNeighbours + s);
      const auto same = static_cast<std::size_t>(from[static_cast<std::size_t>(i)] * kNeighbours + s);
      ASSERT_EQ(a.distances64[slot], b.distances64[same]);
      ASSERT_EQ(from[static_cast<std::size_t>(a.ids[slot])], b.ids[same]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, Metamorphic, ::testing::Range(0, 8), [](const auto& p) { return fmt::format("cell_{}", p.param); });

// --- matrices, by the kernel that takes sixteen columns at once -------------------------------------------------------------------------

constexpr double kMatrixBound = 2e-5;  // docs/numerics.md, section 16

DistanceOptions matrix_options(const Cell& cell) {
  DistanceOptions options;
  options.metric = {.metric = Metric::periodic, .cell = cell};
  options.memory = std::uint64_t{256} << 20;
  return options;
}

bool same_bytes(const DistanceArray& a, const DistanceArray& b) { return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0; }

/// The largest error of x against y, relative to the canonical distances, in units of the bound.
double worst(const Cell& cell, const Matrix& x, const Matrix& y, const DistanceArray& got) {
  double largest = 0;
  for (Index i = 0; i < x.rows; ++i) {
    for (Index j = 0; j < y.rows; ++j) {
      const double c = std::sqrt(oracle::nearest_image(cell, {x.row(i), x.row(i) + x.cols}, {y.row(j), y.row(j) + y.cols}).key);
      const double error = std::abs(static_cast<double>(got.floats()[i * y.rows + j]) - c) / (kMatrixBound * c + 0x1p-149);
      largest = std::max(largest, std::isnan(error) ? HUGE_VAL : error);
    }
  }
  return largest;
}

TEST(PeriodicMatrix, IsWithinTheBoundAndTheSameOnEveryInstructionSet) {
  std::mt19937_64 random(31);
  std::int64_t fast = 0;
  for (int i = 0; i < 60; ++i) {
    const Cell cell = oracle::random_cell(random);
    const double spread = i % 3 == 0 ? 40 : 1.5;  // some of them so far outside that folding takes many steps
    const Matrix x = oracle::random_points(cell, 19, spread, random);
    Matrix y = oracle::random_points(cell, 37, spread, random);
    for (Index j = 0; j < 12; ++j) {  // near ones too, down to where the kernel cannot tell
      for (Index c = 0; c < 3; ++c) y.row(j)[c] = x.row(j)[c] * (1 + std::ldexp(1 + static_cast<double>(c), static_cast<int>(-4 * j)));
    }
    DistanceArray first;
    for (const std::string& isa : isas()) {
      const ForcedIsa forced(isa);
      DistanceArray got;
      const DistanceReport report = distance_matrix(x.view(), y.view(), matrix_options(cell), got);
      EXPECT_EQ(report.form, "nearest-image");
      fast += 19 * 37 - report.canonically;
      if (first.bytes() == 0) first = got;
      ASSERT_TRUE(same_bytes(first, got)) << fmt::format("cell {}: {} gives other bytes", i, isa);
    }
    ASSERT_LE(worst(cell, x, y, first), 1) << "cell " << i;
  }
  EXPECT_GT(fast, std::ssize(isas()) * 60 * 19 * 37 / 3) << "most values by the kernel, else nothing was tested";
}

TEST(PeriodicMatrix, OfASetIsSymmetricWithAZeroDiagonalWhateverItsTiles) {
  std::mt19937_64 random(32);
  for (int i = 0; i < 12; ++i) {
    const Cell cell = oracle::random_cell(random);
    Matrix points = oracle::random_points(cell, 70, 2, random);
    std::copy_n(points.row(3), 3, points.row(4));  // a duplicate
    DistanceArray whole;
    distance_matrix(points.view(), matrix_options(cell), whole);
    for (Index a = 0; a < 70; ++a) {
      ASSERT_EQ(whole.floats()[a * 70 + a], 0);
      for (Index b = 0; b < a; ++b) ASSERT_EQ(whole.floats()[a * 70 + b], whole.floats()[b * 70 + a]) << a << " and " << b;
    }
    ASSERT_EQ(whole.floats()[3 * 70 + 4], 0);
    for (const Index tile : {1, 7, 16, 33}) {
      DistanceOptions options = matrix_options(cell);
      options.tile_rows = options.tile_cols = tile;
      options.threads = 1 + static_cast<int>(tile % 2);
      DistanceArray again;
      distance_matrix(points.view(), options, again);
      ASSERT_TRUE(same_bytes(whole, again)) << "cell " << i << ", tile " << tile;
    }
    DistanceArray two;
    distance_matrix(points.view(), points.view(), matrix_options(cell), two);
    ASSERT_TRUE(same_bytes(whole, two));
    DistanceOptions half = matrix_options(cell);
    half.dtype = DType::f16;
    DistanceArray halves;
    distance_matrix(points.view(), half, halves);
    ASSERT_EQ(halves.bytes(), whole.bytes() / 2);
  }
}

TEST(PeriodicMatrix, TakesPointsOfOneAndTwoColumnsOpenAxesAndEveryScale) {
  std::mt19937_64 random(33);
  std::uniform_real_distribution<double> place(-20, 20);
  for (const Index cols : {1, 2, 3}) {
    for (const double scale : {1e-30, 1e-3, 1.0, 1e25}) {  // squares of the outer ones leave fp32
      Cell cell = parse_cell("7 5 6 80 95 70");
      cell.pbc = {true, cols > 1, false};
      for (std::size_t a = 0; a < 3; ++a) {
        for (double& v : cell.rows[a]) v *= scale;
        if (cols < 3) cell.rows[a][2] = 0;
        if (cols < 2) cell.rows[a][1] = 0;
      }
      if (cols < 3) cell.pbc[2] = false;
      Matrix points = zeros(40, cols);
      for (double& v : points.values) v = place(random) * scale;
      DistanceArray got;
      distance_matrix(points.view(), matrix_options(cell), got);
      ASSERT_LE(worst(cell, points, points, got), 1) << cols << " columns, scale " << scale;
    }
  }
}

TEST(PeriodicMatrix, ExactAndFloat64AreTheCanonicalDistances) {
  std::mt19937_64 random(34);
  const Cell cell = oracle::random_cell(random);
  const Matrix points = oracle::random_points(cell, 30, 2, random);
  DistanceOptions options = matrix_options(cell);
  options.dtype = DType::f64;
  DistanceArray doubles;
  EXPECT_EQ(distance_matrix(points.view(), options, doubles).form, "canonical");
  options.dtype = DType::f32;
  options.exact = true;
  DistanceArray exact;
  EXPECT_EQ(distance_matrix(points.view(), options, exact).form, "canonical");
  for (Index i = 0; i < 900; ++i) {
    const oracle::Image image = oracle::nearest_image(cell, {points.row(i / 30), points.row(i / 30) + 3}, {points.row(i % 30), points.row(i % 30) + 3});
    ASSERT_EQ(doubles.doubles()[i], std::sqrt(image.key));
    ASSERT_EQ(exact.floats()[i], static_cast<float>(std::sqrt(image.key)));
  }
}

}  // namespace
}  // namespace tessera::testing
