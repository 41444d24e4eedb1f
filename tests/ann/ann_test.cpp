// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "tessera/ann.hpp"
#include "tessera/error.hpp"
#include "tessera/graph.hpp"
#include "tessera/knn.hpp"

namespace tessera::testing {
namespace {

constexpr Index kBase = 1500;
constexpr Index kQueries = 40;
constexpr Index kCols = 12;

std::vector<float> gaussian(Index rows, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(rows * kCols));
  for (float& value : values) value = normal(random);
  return values;
}

class Ann : public ::testing::Test {
 protected:
  RowSet base() const { return dense(base_.data(), kBase, kCols); }
  RowSet queries() const { return dense(queries_.data(), kQueries, kCols); }
  NeighbourLists truth(Index k) const {
    const Neighbours found = knn(queries(), base(), k);
    return {.rows = kQueries, .k = k, .ids = found.ids, .distances = {found.distances.begin(), found.distances.end()}};
  }
  double recall_of(const Neighbours& found) const {
    const NeighbourLists run{.rows = found.rows, .k = found.k, .ids = found.ids, .distances = {}};
    return recall(truth(2 * found.k), run, {.k = found.k}).recall;
  }

  template <class Call>
  static ErrorCode code_of(Call call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_FALSE(std::string(error.what()).empty());
      return error.code();
    }
    return ErrorCode::internal;  // stands for: nothing was thrown
  }

  std::vector<float> base_ = gaussian(kBase, 1);
  std::vector<float> queries_ = gaussian(kQueries, 2);
};

TEST_F(Ann, ReportsDistancesByTesserasRules) {
  for (const Metric metric : {Metric::l2, Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
    AnnIndex index = AnnIndex::build(base(), "Flat", {.metric = metric});
    EXPECT_EQ(index.rows(), kBase);
    EXPECT_EQ(index.cols(), kCols);
    const Neighbours found = index.search(queries(), 7);
    const Neighbours exact = knn(queries(), base(), 7, {.metric = {metric}});
    EXPECT_EQ(found.ids, exact.ids) << name_of(metric);
    for (std::size_t i = 0; i < found.distances.size(); ++i) EXPECT_NEAR(found.distances[i], exact.distances[i], 1e-4) << name_of(metric);
  }
}

TEST_F(Ann, PutsZeroRowsAtCosineDistanceOne) {
  std::fill_n(base_.begin() + 3 * kCols, kCols, 0.0F);
  std::fill_n(queries_.begin(), kCols, 0.0F);
  AnnIndex index = AnnIndex::build(base(), "Flat", {.metric = Metric::cosine});
  EXPECT_EQ(index.report().zero_rows, 1);
  const Neighbours found = index.search(queries(), kBase);
  EXPECT_EQ(found.report.zero_queries, 1);
  int seen = 0;
  for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(kBase); ++i) {
    const bool zero_query = i < static_cast<std::size_t>(kBase);
    if (!zero_query && found.ids[i] != 3) continue;
    ++seen;
    EXPECT_EQ(found.distances[i], 1);
  }
  EXPECT_EQ(seen, kBase + 1);
}

TEST_F(Ann, PadsPastTheRowsThereAre) {
  AnnIndex few = AnnIndex::build(slice(base(), 0, 3), "Flat", {});
  const Neighbours found = few.search(queries(), 5);
  EXPECT_EQ(found.ids[3], -1);
  EXPECT_EQ(found.distances[4], std::numeric_limits<float>::infinity());
  AnnIndex products = AnnIndex::build(slice(base(), 0, 3), "Flat", {.metric = Metric::inner_product});
  EXPECT_EQ(products.search(queries(), 5).distances[4], -std::numeric_limits<float>::infinity());
}

TEST_F(Ann, AddsInBatchesWhatItAddsAtOnce) {
  AnnIndex whole = AnnIndex::build(base(), "IVF16,Flat", {});
  AnnIndex batched = AnnIndex::build(base(), "IVF16,Flat", {.memory = 80 << 10});  // 1,024 rows at a time
  const AnnSettings all = {{"nprobe", 16}};
  EXPECT_EQ(whole.search(queries(), 5, all).ids, batched.search(queries(), 5, all).ids);
  EXPECT_EQ(batched.rows(), kBase);
}

TEST_F(Ann, TrainsOnTheSameSampleEveryTime) {
  const AnnBuildOptions options{.threads = 1, .train_rows = 700};
  AnnIndex a = AnnIndex::build(base(), "IVF16,Flat", options);
  AnnIndex b = AnnIndex::build(base(), "IVF16,Flat", options);
  EXPECT_EQ(a.report().train_rows, 700);
  EXPECT_EQ(a.search(queries(), 5, {{"nprobe", 2}}).ids, b.search(queries(), 5, {{"nprobe", 2}}).ids);
}

TEST_F(Ann, ReadsElementsOfEveryTypeAndRefusesWhatFloatCannotHold) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(kBase * kCols));
  std::mt19937 random(3);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  const RowSet rows = dense(bytes.data(), kBase, kCols);
  AnnIndex index = AnnIndex::build(rows, "Flat", {});
  EXPECT_EQ(index.search(slice(rows, 0, 20), 1).ids, knn(slice(rows, 0, 20), rows, 1).ids);
  std::vector<double> wide(base_.begin(), base_.end());
  wide[5] = 1e39;
  EXPECT_EQ(code_of([&] { AnnIndex::build(dense(wide.data(), kBase, kCols), "Flat", {}); }), ErrorCode::malformed_input);
  base_[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "Flat", {}); }), ErrorCode::malformed_input);
}

TEST_F(Ann, SavesWhatItLoads) {
  const auto folder = std::filesystem::temp_directory_path() / "tessera-ann-save";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string path = (folder / "i.faiss").string();
  AnnIndex index = AnnIndex::build(base(), "IVF16_HNSW8,Flat", {.metric = Metric::cosine});
  index.save(path);
  EXPECT_EQ(index.bytes(), std::filesystem::file_size(path));
  EXPECT_EQ(code_of([&] { index.save(path); }), ErrorCode::invalid_argument);
  AnnIndex back = AnnIndex::load(path, Metric::cosine);
  const AnnSettings settings = {{"nprobe", 4}, {"quantizer_efSearch", 32}};
  EXPECT_EQ(back.search(queries(), 5, settings).ids, index.search(queries(), 5, settings).ids);
  EXPECT_EQ(AnnIndex::load(path).metric(), Metric::inner_product);
  EXPECT_EQ(code_of([&] { AnnIndex::load(path, Metric::l2); }), ErrorCode::invalid_argument);

  std::filesystem::resize_file(path, index.bytes() / 2);
  EXPECT_EQ(code_of([&] { AnnIndex::load(path); }), ErrorCode::malformed_input);
  std::ofstream(path) << "no index at all";
  EXPECT_EQ(code_of([&] { AnnIndex::load(path); }), ErrorCode::malformed_input);
  EXPECT_EQ(code_of([&] { AnnIndex::load(path + "x"); }), ErrorCode::io);
  EXPECT_EQ(code_of([&] { AnnIndex::load(folder.string()); }), ErrorCode::io);
  std::filesystem::remove_all(folder);
}

TEST_F(Ann, SaysWhatFaissCannotDo) {
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "HSNW32", {}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "Flat", {.metric = Metric::linf}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "HNSW1", {}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "IVF8_HNSW1,Flat", {}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "HNSW100000000", {.memory = 1 << 30}); }), ErrorCode::out_of_memory);
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "HNSW99999999999999999999999", {}); }), ErrorCode::out_of_memory);
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "PQ99999999999", {}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { AnnIndex::build(slice(base(), 0, 10), "IVF64,Flat", {}); }), ErrorCode::invalid_argument);
  AnnIndex flat = AnnIndex::build(base(), "Flat", {});
  EXPECT_EQ(code_of([&] { flat.search(queries(), 3, {{"nprobe", 3}}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { flat.search(queries(), 0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { flat.search(dense(queries_.data(), kQueries, kCols - 1), 3); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "NSG8", {.memory = 50 << 10}); }), ErrorCode::out_of_memory);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "Flat", {.stop = stop.get_token()}); }), ErrorCode::cancelled);
}

TEST_F(Ann, BuildsNsgFromTheExactGraph) {
  const Neighbours graph = knn_graph(base(), 32);
  AnnIndex index = AnnIndex::build(base(), "NSG16", {.graph = &graph});
  EXPECT_GE(recall_of(index.search(queries(), 5, {{"search_L", 128}})), 0.95);
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "IVF16,Flat", {.graph = &graph}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { AnnIndex::build(slice(base(), 0, 900), "NSG16", {.graph = &graph}); }), ErrorCode::malformed_input);
  Neighbours wrong = graph;
  wrong.ids[40] = kBase;
  EXPECT_EQ(code_of([&] { AnnIndex::build(base(), "NSG16", {.graph = &wrong}); }), ErrorCode::malformed_input);
}

TEST_F(Ann, BuildsHnswFromTheExactGraph) {
  for (const Metric metric : {Metric::l2, Metric::cosine, Metric::inner_product}) {
    KnnOptions options;
    options.metric.metric = metric;
    const Neighbours graph = knn_graph(base(), 32, options);
    const Neighbours exact = knn(queries(), base(), 5, options);
    const auto recall = [&](const AnnBuildOptions& how) {
      AnnIndex index = AnnIndex::build(base(), "HNSW16", how);
      const Neighbours found = index.search(queries(), 5, {{"efSearch", 128}});
      Index right = 0;
      for (std::size_t i = 0; i < exact.ids.size(); i += 5) {
        for (std::size_t j = i; j < i + 5; ++j) right += std::count(exact.ids.begin() + i, exact.ids.begin() + i + 5, found.ids[j]);
      }
      return static_cast<double>(right) / static_cast<double>(exact.ids.size());
    };
    EXPECT_GE(recall({.metric = metric, .graph = &graph}), recall({.metric = metric}) - 0.02) << name_of(metric);
  }
  // Even a single row has somewhere to enter, and a list may be shorter than k.
  Neighbours alone;
  alone.rows = 1;
  alone.k = 2;
  alone.ids = {-1, -1};
  AnnIndex index = AnnIndex::build(slice(base(), 0, 1), "HNSW16", {.graph = &alone});
  EXPECT_EQ(index.search(queries(), 1).ids, std::vector<std::int64_t>(kQueries, 0));
}

TEST_F(Ann, SweepsToTheEndOfEverySetting) {
  AnnIndex index = AnnIndex::build(base(), "IVF32,Flat", {});
  SweepOptions options{.k = 5, .seconds_per_point = 0, .latency_queries = 3};
  options.enough_recall = 2;  // never enough
  const auto points = sweep(index, queries(), truth(16), options);
  ASSERT_EQ(points.size(), 6u);  // 1, 2, 4, 8, 16 and all 32: FAISS's own ranges stop at 16
  EXPECT_EQ(points.back().settings, "nprobe=32");
  EXPECT_EQ(points.back().recall, 1);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_GE(points[i].recall, points[i - 1].recall);
  for (const SweepPoint& point : points) {
    EXPECT_GT(point.queries_per_second, 0);
    EXPECT_EQ(point.latency.queries, 3);
    EXPECT_LE(point.latency.p50, point.latency.p99);
  }
  options.enough_recall = 0;
  EXPECT_EQ(sweep(index, queries(), truth(16), options).size(), 1u);
  const ExactPoint exact = measure_exact(base(), queries(), Metric::l2, options);
  EXPECT_EQ(exact.point.recall, 1);
  EXPECT_GT(exact.point.queries_per_second, 0);
}

TEST(Pareto, MarksWhatNothingBeats) {
  const double values[5][2] = {{0.5, 100}, {0.9, 50}, {0.9, 40}, {0.4, 90}, {0.9, 50}};
  const bool want[5] = {true, true, false, false, true};
  std::vector<SweepPoint> points(5);
  std::vector<SweepPoint*> all;
  for (std::size_t i = 0; i < 5; ++i) {
    points[i].recall = values[i][0];
    points[i].queries_per_second = values[i][1];
    all.push_back(&points[i]);
  }
  mark_pareto(all);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(points[i].pareto, want[i]) << i;
}

TEST(AnnSettings, AreWrittenAsFaissReadsThem) {
  EXPECT_EQ(to_string(AnnSettings{{"nprobe", 16}, {"k_factor_rf", 1.5}}), "nprobe=16,k_factor_rf=1.5");
  EXPECT_EQ(to_string(AnnSettings{}), "");
}

}  // namespace
}  // namespace tessera::testing
