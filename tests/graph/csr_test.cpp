// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tessera/error.hpp"
#include "tessera/graph.hpp"

namespace tessera::testing {
namespace {

using Edges = std::map<std::pair<std::int64_t, std::int64_t>, double>;

Neighbours lists_of(Index rows, Index k, std::vector<std::int64_t> ids, std::vector<float> distances) {
  return {.rows = rows, .k = k, .ids = std::move(ids), .distances = std::move(distances), .distances64 = {}, .shifts = {}, .report = {}};
}

Edges edges_of(const CsrGraph& graph) {
  Edges edges;
  for (Index row = 0; row < graph.rows; ++row) {
    for (auto at = graph.indptr[static_cast<std::size_t>(row)]; at < graph.indptr[static_cast<std::size_t>(row) + 1]; ++at) {
      const auto slot = static_cast<std::size_t>(at);
      EXPECT_TRUE(edges.emplace(std::pair(row, graph.indices[slot]), graph.weights[slot]).second) << "an edge twice";
    }
  }
  return edges;
}

/// Exact lists of random one-dimensional points: k nearest others, ties by id; some points coincide.
Neighbours line_lists(Index rows, Index k, unsigned seed, Index first_id = 0) {
  std::mt19937 random(seed);
  std::vector<float> x(static_cast<std::size_t>(rows));
  for (float& value : x) value = static_cast<float>(random() % 64) / 8;
  const RowSet base = [&] {
    RowSet set = dense(x.data(), rows, 1);
    set.first_id = first_id;
    return set;
  }();
  return knn_graph(base, k, {});
}

TEST(CsrGraph, KeepsListOrderAndZerosAndLeavesPaddingOut) {
  const CsrGraph graph = csr_graph(lists_of(3, 2, {2, 1, 0, -1, 0, 1}, {0, 5, 5, INFINITY, 0, 7}));
  EXPECT_EQ(graph.indptr, (std::vector<std::int64_t>{0, 2, 3, 5}));
  EXPECT_EQ(graph.indices, (std::vector<std::int64_t>{2, 1, 0, 0, 1}));
  EXPECT_EQ(graph.weights, (std::vector<double>{0, 5, 5, 0, 7}));
  EXPECT_FALSE(graph.float64);
  EXPECT_FALSE(graph.symmetric);
}

TEST(CsrGraph, CountsASlicesRowsFromZero) {
  const Neighbours lists = line_lists(20, 3, 1, 100);
  const CsrGraph moved = csr_graph(lists, {.first_id = 100});
  EXPECT_EQ(edges_of(moved), edges_of(csr_graph(line_lists(20, 3, 1))));
  EXPECT_THROW(csr_graph(lists), Error);
  EXPECT_THROW(csr_graph(lists, {.first_id = 90}), Error);
}

TEST(CsrGraph, SymmetrizesAsSetsOfEdgesSay) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Neighbours lists = line_lists(40, 1 + static_cast<Index>(seed % 5), seed);
    const Edges directed = edges_of(csr_graph(lists));
    Edges either;
    Edges both;
    for (const auto& [edge, weight] : directed) {
      const std::pair back(edge.second, edge.first);
      either[edge] = either[back] = weight;
      if (directed.contains(back)) both[edge] = weight;
    }
    for (const auto& [how, want] : {std::pair(Symmetrize::union_, either), std::pair(Symmetrize::mutual, both)}) {
      const CsrGraph graph = csr_graph(lists, {.symmetrize = how});
      EXPECT_EQ(edges_of(graph), want) << name_of(how) << ", seed " << seed;
      EXPECT_TRUE(graph.symmetric);
      for (std::size_t row = 0; row + 1 < graph.indptr.size(); ++row) {
        EXPECT_TRUE(std::is_sorted(graph.indices.begin() + graph.indptr[row], graph.indices.begin() + graph.indptr[row + 1]));
      }
    }
  }
}

TEST(CsrGraph, JaccardCountsSharedNeighboursWithoutTheRowsThemselves) {
  for (const SelfMode self : {SelfMode::exclude, SelfMode::first}) {
    for (unsigned seed = 0; seed < 10; ++seed) {
      const Neighbours plain = line_lists(30, 4, seed);
      std::vector<float> x;
      const Neighbours& lists = plain;
      std::vector<std::set<std::int64_t>> near(30);
      for (Index i = 0; i < 30 * 4; ++i) near[static_cast<std::size_t>(i / 4)].insert(lists.ids[static_cast<std::size_t>(i)]);
      Neighbours used = lists;
      if (self == SelfMode::first) {  // the same lists behind the row itself
        used = lists_of(30, 5, {}, {});
        for (Index i = 0; i < 30; ++i) {
          used.ids.push_back(i);
          used.distances.push_back(0);
          for (std::size_t j = 0; j < 4; ++j) {
            used.ids.push_back(lists.ids[static_cast<std::size_t>(i) * 4 + j]);
            used.distances.push_back(lists.distances[static_cast<std::size_t>(i) * 4 + j]);
          }
        }
      }
      for (const auto& [edge, weight] : edges_of(csr_graph(used, {.symmetrize = Symmetrize::union_, .weights = EdgeWeights::jaccard}))) {
        std::set<std::int64_t> all = near[static_cast<std::size_t>(edge.first)];
        const auto& other = near[static_cast<std::size_t>(edge.second)];
        double shared = 0;
        for (const auto id : other) shared += all.contains(id) ? 1 : 0;
        all.insert(other.begin(), other.end());
        EXPECT_EQ(weight, shared / static_cast<double>(all.size()));
      }
    }
  }
}

TEST(CsrGraph, HeatUsesTheLowerMedianOfTheLastDistances) {
  const Neighbours lists = lists_of(4, 1, {1, 0, 3, 2}, {2, 2, 6, 6});
  const CsrGraph graph = csr_graph(lists, {.weights = EdgeWeights::heat, .metric = Metric::l2});
  EXPECT_DOUBLE_EQ(graph.weights[0], std::exp(-0.5));       // sigma 2
  EXPECT_DOUBLE_EQ(graph.weights[2], std::exp(-4.5));       // three sigma
  const CsrGraph squared = csr_graph(lists_of(2, 1, {1, 0}, {9, 9}), {.weights = EdgeWeights::heat, .sigma = 3, .metric = Metric::sqeuclidean});
  EXPECT_DOUBLE_EQ(squared.weights[0], std::exp(-0.5));
  const CsrGraph twins = csr_graph(lists_of(2, 1, {1, 0}, {0, 0}), {.weights = EdgeWeights::heat});
  EXPECT_EQ(twins.weights, (std::vector<double>{1, 1}));
  EXPECT_THROW(csr_graph(lists, {.weights = EdgeWeights::heat, .metric = Metric::inner_product}), Error);
  EXPECT_THROW(csr_graph(lists, {.weights = EdgeWeights::heat, .sigma = -1}), Error);
}

TEST(CsrGraph, ConnectivityIsOneOnEveryEdge) {
  const CsrGraph graph = csr_graph(line_lists(25, 3, 3), {.symmetrize = Symmetrize::union_, .weights = EdgeWeights::connectivity});
  EXPECT_GT(graph.weights.size(), 0u);
  for (const double weight : graph.weights) EXPECT_EQ(weight, 1);
}

TEST(CsrGraph, OfNothingIsEmpty) {
  for (const auto how : {Symmetrize::none, Symmetrize::union_, Symmetrize::mutual}) {
    const CsrGraph graph = csr_graph(lists_of(0, 3, {}, {}), {.symmetrize = how, .weights = EdgeWeights::jaccard});
    EXPECT_EQ(graph.indptr, (std::vector<std::int64_t>{0}));
    EXPECT_TRUE(graph.indices.empty());
  }
}

TEST(KnnGraph, ExcludesTheRowItselfUnlessAskedOtherwise) {
  const std::vector<float> x = {0, 0, 5};
  const RowSet base = dense(x.data(), 3, 1);
  EXPECT_EQ(knn_graph(base, 1).ids, (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(knn_graph(base, 1, {.self = SelfMode::first}).ids, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(GraphNames, ReadBackAsTheyAreWritten) {
  for (const auto how : {Symmetrize::none, Symmetrize::union_, Symmetrize::mutual}) EXPECT_EQ(parse_symmetrize(name_of(how)), how);
  for (const auto what : {EdgeWeights::distance, EdgeWeights::connectivity, EdgeWeights::heat, EdgeWeights::jaccard}) {
    EXPECT_EQ(parse_edge_weights(name_of(what)), what);
  }
  EXPECT_FALSE(parse_symmetrize("both"));
  EXPECT_FALSE(parse_edge_weights(""));
}

}  // namespace
}  // namespace tessera::testing
