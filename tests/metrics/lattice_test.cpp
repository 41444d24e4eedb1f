// SPDX-License-Identifier: Apache-2.0
#include "metrics/lattice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "contract/periodic_oracle.hpp"
#include "tessera/error.hpp"

namespace tessera::testing {
namespace {

using metrics::Lattice;
using metrics::make_lattice;

constexpr int kCells = 3000;

Cell rows(std::array<std::array<double, 3>, 3> r, std::array<bool, 3> pbc = {true, true, true}) { return {.rows = r, .pbc = pbc}; }

double determinant(const double (&m)[3][3], int rank, const Cell& cell) {
  int axes[3];
  int count = 0;
  for (int b = 0; b < 3; ++b) {
    if (cell.pbc[static_cast<std::size_t>(b)]) axes[count++] = b;
  }
  if (rank == 1) return m[0][axes[0]];
  if (rank == 2) return m[0][axes[0]] * m[1][axes[1]] - m[0][axes[1]] * m[1][axes[0]];
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

TEST(Lattice, IsTheCallersLatticeInALowerTriangularFrame) {
  std::mt19937_64 random(1);
  for (int i = 0; i < kCells; ++i) {
    const Cell cell = oracle::random_cell(random);
    SCOPED_TRACE(fmt::format("cell {}", i));
    const auto l = make_lattice(cell, 3);
    double size = 0;
    for (const auto& row : cell.rows) size = std::max(size, std::hypot(row[0], row[1], row[2]));
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        double product = 0;
        for (int c = 0; c < 3; ++c) product += l->frame[a][c] * l->frame[b][c];
        ASSERT_NEAR(product, a == b ? 1 : 0, 1e-14);
      }
    }
    for (int a = 0; a < l->rank; ++a) {
      double reduced[3] = {0, 0, 0};
      for (int b = 0; b < 3; ++b) {
        ASSERT_EQ(l->to_cell[a][b], std::round(l->to_cell[a][b]));
        for (int c = 0; c < 3; ++c) reduced[c] += l->to_cell[a][b] * l->cell[b][c];
      }
      for (int c = 0; c < 3; ++c) {
        double component = 0;
        for (int t = 0; t < 3; ++t) component += l->frame[c][t] * reduced[t];
        ASSERT_NEAR(component, l->brick[a][c], 1e-12 * size * 50);
        if (c > a) {
          ASSERT_EQ(l->brick[a][c], 0);
        }
        if (c < a) {
          ASSERT_LE(std::abs(l->brick[a][c]), 0.5 * l->brick[c][c] * (1 + 1e-9));
        }
      }
      ASSERT_GT(l->brick[a][a], 0);
    }
    if (l->rank > 0) {
      ASSERT_EQ(std::abs(determinant(l->to_cell, l->rank, cell)), 1);
    }
  }
}

TEST(Lattice, KnowsItsShortestVector) {
  std::mt19937_64 random(2);
  for (int i = 0; i < kCells / 10; ++i) {
    const Cell cell = oracle::random_cell(random);
    SCOPED_TRACE(fmt::format("cell {}", i));
    const auto l = make_lattice(cell, 3);
    double shortest = std::numeric_limits<double>::infinity();
    if (l->rank > 0) {
      for (const auto& image : oracle::images_within(cell, {0, 0, 0}, {0, 0, 0}, l->shortest * 1.001)) {
        if (image.shift != oracle::Shift{}) shortest = std::min(shortest, std::sqrt(image.key));
      }
    }
    if (std::isinf(shortest)) {
      ASSERT_EQ(l->shortest, shortest);
    } else {
      ASSERT_NEAR(l->shortest, shortest, 1e-12 * shortest);
    }
  }
}

TEST(Lattice, ListsWhatFoldingMisses) {
  const auto list = [](const Cell& cell) { return std::ssize(make_lattice(cell, 3)->shorter); };
  EXPECT_EQ(list(rows({{{5, 0, 0}, {0, 7, 0}, {0, 0, 3}}})), 0);
  EXPECT_EQ(list(rows({{{0, 5, 0}, {7, 0, 0}, {0, 0, -3}}})), 0) << "a box with its rows in another order";
  EXPECT_EQ(list(rows({{{5, 0, 0}, {1, 7, 0}, {0, 0, 3}}}, {true, false, true})), 0) << "an open axis has no influence";
  EXPECT_GT(list(rows({{{1, 1, 0}, {1, 0, 1}, {0, 1, 1}}})), 0);
  EXPECT_TRUE(make_lattice(rows({{{5, 0, 0}, {5, 7, 0}, {10, 14, 3}}}), 3)->orthogonal) << "a box in disguise";
  EXPECT_FALSE(make_lattice(rows({{{1, 0, 0}, {0.5, 0.9, 0}, {0, 0, 1}}}), 3)->orthogonal);
}

TEST(Lattice, MissesNoVectorThatBeatsAFoldedDifference) {
  // Random differences in the brick, its faces and corners among them: the best of the list is the best of all.
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(-0.5, 0.5);
  for (int i = 0; i < kCells / 3; ++i) {
    const Cell cell = oracle::random_cell(random);
    const auto l = make_lattice(cell, 3);
    const auto all = l->rank > 0 ? metrics::vectors_within(*l, 2.0 * std::hypot(l->brick[0][0], l->brick[1][1], l->brick[2][2]) * 0.51) : std::vector<metrics::LatticeImage>{};
    for (int trial = 0; trial < 20; ++trial) {
      double w[3] = {0, 0, 0};
      for (int a = 0; a < l->rank; ++a) w[a] = l->brick[a][a] * (random() % 3 == 0 ? 0.5 * static_cast<double>(random() % 3) - 0.5 : unit(random));
      const auto least = [&](const std::vector<metrics::LatticeImage>& images, double sign) {
        double best = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
        for (const auto& image : images) {
          double d2 = 0;
          for (int c = 0; c < 3; ++c) d2 += (w[c] + sign * image.t[c]) * (w[c] + sign * image.t[c]);
          best = std::min(best, d2);
        }
        return best;
      };
      const double truth = least(all, 1);
      ASSERT_LE(least(l->near, 1), truth * (1 + 1e-12)) << "cell " << i;
      ASSERT_LE(std::min(least(l->shorter, 1), least(l->shorter, -1)), truth * (1 + 1e-12)) << "cell " << i;
    }
  }
}

TEST(Lattice, NeedsNoListWhileNearerThanHalfTheSmallestEdge) {
  std::mt19937_64 random(4);
  for (int i = 0; i < kCells; ++i) {
    const Cell cell = oracle::random_cell(random);
    const auto l = make_lattice(cell, 3);
    if (l->rank == 0) continue;
    for (const auto& image : l->near) ASSERT_GE(std::sqrt(image.norm2), l->smallest_edge * (1 - 1e-12));
    ASSERT_LE(l->smallest_edge, l->shortest * (1 + 1e-12));
  }
  // |w|^2 = 2 for the point (1, 1), but its nearest image is at 1, half the smallest edge and no less.
  const auto l = make_lattice(rows({{{2, 0, 0}, {1, 2, 0}, {0, 0, 0}}}, {true, true, false}), 3);
  EXPECT_EQ(l->smallest_edge, 2);
}

TEST(Lattice, RefusesWhatIsNone) {
  const auto message = [](const Cell& cell, Index cols) {
    try {
      make_lattice(cell, cols);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return std::string(error.what());
    }
    return std::string();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message(rows({{{1, 0, 0}, {2, 0, 0}, {0, 0, 1}}}), 3).find("dependent"), std::string::npos);
  EXPECT_NE(message(rows({{{1, 2, 3}, {4, 5, 6}, {5, 7, 9}}}), 3).find("dependent"), std::string::npos);
  EXPECT_NE(message(rows({{{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}, {0.5, 0.7, 0.9}}}), 3).find("dependent"), std::string::npos);
  EXPECT_NE(message(rows({{{1, 0, 0}, {0, 0, 0}, {0, 0, 1}}}), 3).find("dependent"), std::string::npos);
  EXPECT_NE(message(rows({{{1, 0, 0}, {0, nan, 0}, {0, 0, 1}}}), 3).find("finite"), std::string::npos);
  EXPECT_NE(message(rows({{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}), 2).find("columns"), std::string::npos);
  EXPECT_NE(message(rows({{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}), 4).find("1 to 3"), std::string::npos);
  EXPECT_NE(message(rows({{{1, 0, 0}, {1e12, 1e-3, 0}, {0, 0, 1}}}), 3), "");
  EXPECT_EQ(message(rows({{{1, 0, 0}, {0, nan, 0}, {0, 0, 1}}}, {true, false, true}), 3), "") << "an open row is not looked at";
  EXPECT_EQ(message(rows({{{1, 0, 0}, {0, 0, 0}, {0, 0, 0}}}, {true, false, false}), 1), "");
  EXPECT_EQ(message(rows({{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}}, {false, false, false}), 3), "");
}

TEST(Lattice, ListsTheImagesBetweenPointsOfTheBrick) {
  std::mt19937_64 random(9);
  std::size_t most = 0;
  for (int i = 0; i < kCells / 5; ++i) {
    const Cell cell = oracle::random_cell(random);
    SCOPED_TRACE(fmt::format("cell {}", i));
    const auto l = make_lattice(cell, 3);
    const auto images = metrics::images_between(*l);
    most = std::max(most, images.size());
    ASSERT_FALSE(images.empty());
    ASSERT_EQ(images[0].norm2, 0);
    if (l->orthogonal) {
      ASSERT_EQ(images.size(), static_cast<std::size_t>(std::pow(3, l->rank)));
    }
    std::uniform_real_distribution<double> half(-0.5, 0.5);
    std::uniform_int_distribution<int> corner(0, 5);
    for (int pair = 0; pair < 40; ++pair) {
      double d[3] = {0, 0, 0};
      double diagonal2 = 0;
      for (int a = 0; a < l->rank; ++a) {
        // Faces and corners of the brick are where images are farthest.
        const auto place = [&] { return corner(random) == 0 ? 0.5 : corner(random) == 0 ? -0.5 : half(random); };
        d[a] = (place() - place()) * l->brick[a][a];
        diagonal2 += l->brick[a][a] * l->brick[a][a];
      }
      const auto distance2 = [&](const metrics::LatticeImage& t) {
        double sum = 0;
        for (int c = 0; c < 3; ++c) sum += (d[c] + t.t[c]) * (d[c] + t.t[c]);
        return sum;
      };
      double listed = INFINITY;
      for (const auto& t : images) listed = std::min(listed, distance2(t));
      double least = INFINITY;
      for (const auto& t : metrics::vectors_within(*l, 1.6 * std::sqrt(diagonal2))) least = std::min(least, distance2(t));
      if (l->rank == 0) least = 0;
      ASSERT_LE(listed, least * (1 + 1e-9) + 1e-12 * diagonal2);
    }
  }
  EXPECT_LT(most, 400u);
  fmt::print("at most {} images\n", most);
}

}  // namespace
}  // namespace tessera::testing
