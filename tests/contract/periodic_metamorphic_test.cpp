// SPDX-License-Identifier: Apache-2.0
// What must not change a periodic answer, or only in a way that is known: lattice vectors added to points, another basis of the same lattice, rotations,
// mirroring, exchanged sets, another order of rows. Coordinates and cells are multiples of 2^-10 where bits are compared: every operation is exact then.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "contract/compare.hpp"
#include "contract/periodic_oracle.hpp"
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

}  // namespace
}  // namespace tessera::testing
