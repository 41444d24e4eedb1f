// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tessera/graph.hpp"

namespace tessera::testing {
namespace {

/// Labels spread along edges until nothing changes: slow, and right.
GraphComponents by_spreading(const CsrGraph& graph) {
  std::vector<std::int64_t> label(static_cast<std::size_t>(graph.rows));
  for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<std::int64_t>(i);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t row = 0; row < label.size(); ++row) {
      for (auto at = graph.indptr[row]; at < graph.indptr[row + 1]; ++at) {
        std::int64_t& other = label[static_cast<std::size_t>(graph.indices[static_cast<std::size_t>(at)])];
        const std::int64_t least = std::min(label[row], other);
        changed = changed || label[row] != least || other != least;
        label[row] = other = least;
      }
    }
  }
  std::map<std::int64_t, Index> sizes;
  for (const auto l : label) ++sizes[l];
  GraphComponents out;
  for (const auto& [l, size] : sizes) {
    ++out.components;
    out.largest = std::max(out.largest, size);
    out.isolated += size == 1 ? 1 : 0;
  }
  return out;
}

TEST(ConnectedComponents, AgreeWithSpreadingLabels) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    CsrGraph graph;
    graph.rows = 1 + static_cast<Index>(random() % 60);
    graph.indptr.push_back(0);
    for (Index row = 0; row < graph.rows; ++row) {
      for (unsigned edges = static_cast<unsigned>(random()) % 3; edges > 0; --edges) {
        graph.indices.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(graph.rows)));
      }
      graph.indptr.push_back(std::ssize(graph.indices));
    }
    const GraphComponents want = by_spreading(graph);
    const GraphComponents got = connected_components(graph);
    EXPECT_EQ(got.components, want.components) << "seed " << seed;
    EXPECT_EQ(got.largest, want.largest) << "seed " << seed;
    EXPECT_EQ(got.isolated, want.isolated) << "seed " << seed;
  }
}

TEST(ConnectedComponents, OfALongChainIsOne) {
  CsrGraph graph;
  graph.rows = 200'000;
  graph.indptr.push_back(0);
  for (Index row = 0; row < graph.rows; ++row) {
    if (row + 1 < graph.rows) graph.indices.push_back(row + 1);
    graph.indptr.push_back(std::ssize(graph.indices));
  }
  EXPECT_EQ(connected_components(graph).components, 1);
}

}  // namespace
}  // namespace tessera::testing
