// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tessera/error.hpp"
#include "tessera/graph.hpp"
#include "tessera/io.hpp"

namespace tessera::testing {
namespace {

class WriteGraph : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("tessera-graph-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::string text(const char* name) const {
    std::ifstream file(path(name));
    std::stringstream out;
    out << file.rdbuf();
    return out.str();
  }

  std::filesystem::path folder_;
};

/// 0 - 1 - 2, a loop at 2, and a row without edges.
CsrGraph chain(bool symmetric) {
  return {.rows = 4,
          .indptr = {0, 1, 3, 5, 5},
          .indices = {1, 0, 2, 1, 2},
          .weights = {0.5, 0.5, 0.1F, 0.1F, 1},
          .float64 = false,
          .symmetric = symmetric};
}

TEST_F(WriteGraph, ListsDirectedEdgesAsStored) {
  write_graph(path("g.edges"), chain(false), GraphFormat::edges);
  EXPECT_EQ(text("g.edges"), "0 1 0.5\n1 0 0.5\n1 2 0.1\n2 1 0.1\n2 2 1\n");
}

TEST_F(WriteGraph, ListsSymmetricEdgesOnce) {
  write_graph(path("g.edges"), chain(true), GraphFormat::edges);
  EXPECT_EQ(text("g.edges"), "0 1 0.5\n1 2 0.1\n2 2 1\n");
}

TEST_F(WriteGraph, CountsFromOneForMetisAndLeavesLoopsOut) {
  write_graph(path("g.metis"), chain(true), GraphFormat::metis);
  EXPECT_EQ(text("g.metis"), "4 2 001\n2 500000\n1 500000 3 100000\n2 100000\n\n");
  CsrGraph plain = chain(true);
  plain.weights.assign(5, 1);
  write_graph(path("plain.graph"), plain, GraphFormat::metis);
  EXPECT_EQ(text("plain.graph"), "4 2\n2\n1 3\n2\n\n");
}

TEST_F(WriteGraph, RefusesForMetisWhatItHasNoFormFor) {
  EXPECT_THROW(write_graph(path("g.metis"), chain(false), GraphFormat::metis), Error);
  CsrGraph far = chain(true);
  far.weights[0] = 7;
  EXPECT_THROW(write_graph(path("g.metis"), far, GraphFormat::metis), Error);
  EXPECT_FALSE(std::filesystem::exists(path("g.metis")));
}

TEST_F(WriteGraph, KeepsAnExistingFile) {
  write_graph(path("g.edges"), chain(true), GraphFormat::edges);
  EXPECT_THROW(write_graph(path("g.edges"), chain(false), GraphFormat::edges), Error);
  write_graph(path("g.edges"), chain(false), GraphFormat::edges, true);
  EXPECT_EQ(text("g.edges").size(), std::string("0 1 0.5\n1 0 0.5\n1 2 0.1\n2 1 0.1\n2 2 1\n").size());
}

TEST(GraphFormat, IsToldByTheSuffix) {
  EXPECT_EQ(graph_format_of("a.NPZ"), GraphFormat::csr_npz);
  EXPECT_EQ(graph_format_of("a.edges"), GraphFormat::edges);
  EXPECT_EQ(graph_format_of("a.metis"), GraphFormat::metis);
  EXPECT_EQ(graph_format_of("a.graph"), GraphFormat::metis);
  EXPECT_FALSE(graph_format_of("a.csv"));
}

}  // namespace
}  // namespace tessera::testing
