// SPDX-License-Identifier: Apache-2.0
// FAISS and the exact path held against each other; where they differ, plain loops in double decide.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <tuple>

#include "tessera/ann.hpp"
#include "tessera/error.hpp"
#include "tessera/knn.hpp"

namespace tessera::testing {
namespace {

struct Data {
  Index rows;
  Index cols;
  std::vector<float> values;
  RowSet set() const { return dense(values.data(), rows, cols); }
};

Data gaussian(Index rows, Index cols, unsigned seed, float offset = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Data data{.rows = rows, .cols = cols, .values = {}};
  for (Index i = 0; i < rows * cols; ++i) data.values.push_back(offset + normal(random));
  return data;
}

Data lattice(Index rows, Index cols, unsigned seed) {
  std::mt19937 random(seed);
  Data data{.rows = rows, .cols = cols, .values = {}};
  for (Index i = 0; i < rows * cols; ++i) data.values.push_back(static_cast<float>(random() % 4));
  return data;
}

/// Squared distances of one query to every base row.
std::vector<double> all_squared(const Data& queries, Index query, const Data& base) {
  std::vector<double> out;
  for (Index j = 0; j < base.rows; ++j) {
    double sum = 0;
    for (Index c = 0; c < base.cols; ++c) {
      const double d = static_cast<double>(queries.values[static_cast<std::size_t>(query * base.cols + c)]) -
                       static_cast<double>(base.values[static_cast<std::size_t>(j * base.cols + c)]);
      sum += d * d;
    }
    out.push_back(sum);
  }
  return out;
}

/// Places where the lists of FAISS Flat and of Tessera name other rows.
struct Differences {
  int ties = 0;          // at the same double distance
  int cancellation = 0;  // FAISS's row is not at the distance of its place
  int ours = 0;          // Tessera's is not: must never be
};

Differences compare(const Data& base, const Data& queries, Index k) {
  AnnIndex flat = AnnIndex::build(base.set(), "Flat", {});
  const Neighbours theirs = flat.search(queries.set(), k);
  const Neighbours exact = knn(queries.set(), base.set(), k);
  Differences out;
  for (Index q = 0; q < queries.rows; ++q) {
    const std::vector<double> all = all_squared(queries, q, base);
    std::vector<double> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    for (Index rank = 0; rank < k; ++rank) {
      const auto at = static_cast<std::size_t>(q * k + rank);
      const double want = sorted[static_cast<std::size_t>(rank)];
      const auto off = [&](std::int64_t id) { return std::abs(all[static_cast<std::size_t>(id)] - want) > 1e-12 * want; };
      out.ours += off(exact.ids[at]) ? 1 : 0;
      if (exact.ids[at] == theirs.ids[at]) continue;
      (off(theirs.ids[at]) ? out.cancellation : out.ties) += 1;
    }
  }
  return out;
}

TEST(Validation, FlatAgreesOnWellSpreadData) {
  const Differences d = compare(gaussian(2000, 16, 1), gaussian(50, 16, 2), 10);
  EXPECT_EQ(d.ties + d.cancellation + d.ours, 0);
}

TEST(Validation, FlatDiffersInTiesAloneOnSmallWholeNumbers) {
  const Differences d = compare(lattice(2000, 4, 3), lattice(50, 4, 4), 10);
  EXPECT_EQ(d.cancellation, 0);
  EXPECT_EQ(d.ours, 0);
}

TEST(Validation, FlatLosesNeighboursToCancellationAndTesseraDoesNot) {
  const Differences d = compare(gaussian(3000, 16, 5, 3000), gaussian(100, 16, 6, 3000), 10);
  EXPECT_GT(d.cancellation, 0);
  EXPECT_EQ(d.ours, 0);
}

TEST(Validation, NanRowsAreRefusedOnBothPaths) {
  Data base = gaussian(100, 4, 9);
  base.values[9] = std::nanf("");
  const Data queries = gaussian(3, 4, 10);
  EXPECT_THROW(knn(queries.set(), base.set(), 2), Error);
  EXPECT_THROW(AnnIndex::build(base.set(), "Flat", {}), Error);
}

TEST(Validation, RecallTendsToOneAsSearchesWiden) {
  const Data base = gaussian(1200, 16, 7);
  const Data queries = gaussian(60, 16, 8);
  const Neighbours exact = knn(queries.set(), base.set(), 26);
  const NeighbourLists truth{.rows = 60, .k = 26, .ids = exact.ids, .distances = {exact.distances.begin(), exact.distances.end()}};
  for (const auto& [factory, setting, last] : {std::tuple("IVF16,Flat", "nprobe", 16.0), std::tuple("IVF16_HNSW16,Flat", "nprobe", 16.0),
                                               std::tuple("HNSW16", "efSearch", 1024.0), std::tuple("NSG16", "search_L", 1024.0)}) {
    AnnIndex index = AnnIndex::build(base.set(), factory, {});
    double before = 0;
    for (double value = 4; value <= last; value *= 4) {
      AnnSettings settings = {{setting, value}};
      if (std::string(factory).find("_HNSW") != std::string::npos) settings.push_back({"quantizer_efSearch", 256});
      const Neighbours found = index.search(queries.set(), 10, settings);
      const double r = recall(truth, {.rows = 60, .k = 10, .ids = found.ids, .distances = {}}, {.k = 10}).recall;
      EXPECT_GE(r, before - 0.02) << factory << ' ' << value;  // a graph may lose a query on the way
      before = r;
    }
    EXPECT_GE(before, std::string(factory) == "IVF16,Flat" ? 1.0 : 0.999) << factory;
  }
}

}  // namespace
}  // namespace tessera::testing
