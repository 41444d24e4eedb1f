// SPDX-License-Identifier: Apache-2.0
#include "prepare/block_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "contract/oracle.hpp"
#include "engine/workers.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using metrics::Element;
using prepare::BlockTree;
using prepare::Coordinates;
using prepare::NearToFar;
using prepare::RowReader;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Blocks {
  Matrix points;
  Coordinates coordinates;
  std::vector<std::uint32_t> order;
  BlockTree tree;

  Blocks(Matrix m, Index block) : points(std::move(m)) {
    const auto executor = engine::make_executor(2);
    coordinates = prepare::read_coordinates(RowReader(kernels_of(isas().back()), points.view(), false), {}, *executor);
    order = prepare::kd_order(coordinates, block, 8, *executor);
    tree = BlockTree(coordinates, order, block, *executor);
  }
  std::vector<float> box(std::span<const std::uint32_t> which) const {
    std::vector<float> b(static_cast<std::size_t>(2 * points.cols));
    prepare::bound_points(coordinates, which, b);
    return b;
  }
};

double canonical(const Matrix& m, Index i, Index j, Element element) {
  std::vector<double> x(16 * static_cast<std::size_t>((m.cols + 15) / 16)), y(x.size());
  std::copy_n(m.row(i), m.cols, x.begin());
  std::copy_n(m.row(j), m.cols, y.begin());
  return kernels_of(isas().back()).canonical[static_cast<int>(element)](x.data(), y.data(), std::ssize(x));
}

TEST(BlockTree, VisitsEveryPlaceOnceWithoutAReach) {
  std::mt19937_64 random(1);
  for (const Index n : {1, 47, 48, 49, 500, 5000}) {
    const Blocks b(make(Kind::normal, n, 3, random), 48);
    NearToFar walk(b.tree, Element::squared_difference);
    const auto from = b.box(std::vector<std::uint32_t>{0});
    walk.start(from);
    std::vector<int> seen(static_cast<std::size_t>(n));
    for (core::Range places; walk.next(kInfinity, places);) {
      EXPECT_EQ(places.first % 48, 0);
      for (Index i = places.first; i < places.last; ++i) ++seen[static_cast<std::size_t>(i)];
    }
    EXPECT_TRUE(std::ranges::all_of(seen, [](int s) { return s == 1; })) << n;
  }
}

TEST(BlockTree, NeverSkipsAPairWithinReach) {
  std::mt19937_64 random(2);
  for (int number = 0; number < kHurtfulCount; ++number) {
    for (const Element element : {Element::squared_difference, Element::absolute_difference, Element::maximum_difference}) {
      const Blocks b(hurtful(number, 300, 1 + number % 4, random), 16);
      for (Index q = 0; q < 300; q += 37) {
        const auto from = b.box(std::vector<std::uint32_t>{static_cast<std::uint32_t>(q)});
        const double reach = canonical(b.points, q, (q * 7 + 11) % 300, element);  // attained: the pair itself must be met
        NearToFar walk(b.tree, element);
        walk.start(from);
        std::vector<bool> met(300, false);
        for (core::Range places; walk.next(reach, places);) {
          for (Index i = places.first; i < places.last; ++i) met[b.order[static_cast<std::size_t>(i)]] = true;
        }
        for (Index j = 0; j < 300; ++j) {
          if (canonical(b.points, q, j, element) > reach) continue;
          ASSERT_TRUE(met[static_cast<std::size_t>(j)]) << number << ": " << q << ", " << j;
        }
      }
    }
  }
}

TEST(BlockTree, SkipsMostOfACloudFromItsCorner) {
  std::mt19937_64 random(3);
  const Blocks b(make(Kind::normal, 20000, 3, random), 48);
  const auto from = b.box(std::vector<std::uint32_t>{b.order.front()});
  NearToFar walk(b.tree, Element::squared_difference);
  walk.start(from);
  Index visited = 0;
  for (core::Range places; walk.next(0.01, places);) visited += places.size();
  EXPECT_GT(visited, 0);
  EXPECT_LT(visited, 2000);
}

TEST(BlockTree, ReachesTheOwnBlockFirst) {
  std::mt19937_64 random(4);
  const Blocks b(make(Kind::normal, 4800, 3, random), 48);
  const auto own = b.box(std::span(b.order).subspan(480, 48));
  NearToFar walk(b.tree, Element::squared_difference);
  walk.start(own);
  core::Range places;
  ASSERT_TRUE(walk.next(kInfinity, places));
  EXPECT_EQ(places.first, 480);
}

}  // namespace
}  // namespace tessera::testing
