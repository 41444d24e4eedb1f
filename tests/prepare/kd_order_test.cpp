// SPDX-License-Identifier: Apache-2.0
#include "prepare/kd_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/workers.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using prepare::Coordinates;
using prepare::RowReader;

Coordinates coordinates(const Matrix& m) {
  const auto executor = engine::make_executor(2);
  return prepare::read_coordinates(RowReader(kernels_of(isas().back()), m.view(), false), {}, *executor);
}

std::vector<std::uint32_t> order_of(const Coordinates& points, Index block, Index fine) {
  const auto executor = engine::make_executor(2);
  return prepare::kd_order(points, block, fine, *executor);
}

/// Mean length of the diagonals of the boxes around runs of `run` points.
double mean_diagonal(const Matrix& m, const std::vector<std::uint32_t>& order, Index run) {
  double sum = 0;
  Index runs = 0;
  for (std::size_t first = 0; first < order.size(); first += static_cast<std::size_t>(run), ++runs) {
    double squared = 0;
    for (Index t = 0; t < m.cols; ++t) {
      double low = INFINITY, high = -INFINITY;
      for (std::size_t i = first; i < std::min(order.size(), first + static_cast<std::size_t>(run)); ++i) {
        low = std::min(low, m.row(order[i])[t]);
        high = std::max(high, m.row(order[i])[t]);
      }
      squared += (high - low) * (high - low);
    }
    sum += std::sqrt(squared);
  }
  return sum / static_cast<double>(runs);
}

TEST(KdOrder, IsAPermutationForEveryCount) {
  std::mt19937_64 random(1);
  for (const Index n : {0, 1, 2, 7, 8, 9, 47, 48, 49, 95, 96, 97, 1000, 40000}) {
    const Matrix m = make(Kind::normal, n, 3, random);
    auto order = order_of(coordinates(m), 48, 8);
    ASSERT_EQ(std::ssize(order), n);
    std::ranges::sort(order);
    for (Index i = 0; i < n; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST(KdOrder, KeepsNearPointsTogetherInBlocksAndFineRuns) {
  std::mt19937_64 random(2);
  Matrix m = zeros(48 * 1024, 3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (double& v : m.values) v = uniform(random);
  const auto order = order_of(coordinates(m), 48, 8);
  // A cube that holds 48 (8) of the points has a diagonal of sqrt(3) / 1024^(1/3) = 0.172 (0.095); k-d boxes come near it.
  EXPECT_LT(mean_diagonal(m, order, 48), 0.19);
  EXPECT_LT(mean_diagonal(m, order, 8), 0.105);
}

TEST(KdOrder, HandlesEqualPointsAndValuesPastFloat) {
  std::mt19937_64 random(3);
  for (const Kind kind : {Kind::all_equal, Kind::small_integers, Kind::one_huge_row, Kind::mixed_scales}) {
    Matrix m = make(kind, 500, 2, random);
    m.row(3)[0] = 1e300;
    m.row(7)[1] = -1e300;
    auto order = order_of(coordinates(m), 48, 8);
    std::ranges::sort(order);
    for (std::uint32_t i = 0; i < 500; ++i) ASSERT_EQ(order[i], i);
  }
}

TEST(KdOrder, LeavesSpecialRowsOut) {
  std::mt19937_64 random(4);
  const Matrix m = make(Kind::normal, 100, 2, random);
  const auto executor = engine::make_executor(1);
  const RowReader reader(kernels_of(isas().back()), m.view(), false);
  auto rows = prepare::ordered_rows(reader, {.skipped = {3, 50}, .zero = {99}}, 8, *executor);
  std::ranges::sort(rows);
  ASSERT_EQ(rows.size(), 97u);
  for (const Index gone : {3, 50, 99}) EXPECT_FALSE(std::ranges::binary_search(rows, gone));
}

}  // namespace
}  // namespace tessera::testing
