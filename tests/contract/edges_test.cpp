// SPDX-License-Identifier: Apache-2.0
// Shapes that the pairwise tables of contract_test.cpp leave out: rows of thousands of columns, in every layout, and tiny sets of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

constexpr std::uint64_t kSeed = 20240607;
constexpr Index kWide = 4097;  // one more than a power of two: no lane, vector or panel divides it

class Edges : public ::testing::TestWithParam<Metric> {
 protected:
  void expect_answer(const RowSet& queries, const RowSet& base, Index k) const {
    const oracle::Answer want = oracle::knn(queries, base, {.metric = GetParam(), .k = k});
    for (const std::string& isa : isas()) {
      SCOPED_TRACE(fmt::format("{}, {}, {} queries, {} base rows, k {}", name_of(GetParam()), isa, queries.rows, base.rows, k));
      const ForcedIsa forced(isa);
      EXPECT_TRUE(same_bits(knn(queries, base, k, {.metric = {GetParam()}}), want));
    }
  }
};

TEST_P(Edges, RowsOf4097ColumnsInEveryLayout) {
  std::mt19937_64 random(kSeed);
  const Matrix base = make(Kind::normal, 60, kWide, random);
  const Matrix queries = make(Kind::normal, 3, kWide, random);
  for (int layout = 0; layout < kLayoutCount; ++layout) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(static_cast<Layout>(layout)), name_of(dtype)));
      const Stored stored_base(base, dtype, static_cast<Layout>(layout));
      const Stored stored_queries(queries, dtype, static_cast<Layout>(layout));
      expect_answer(stored_queries.rows(), stored_base.rows(), 5);
    }
  }
}

TEST_P(Edges, NoRowsOneRowAndMoreNeighboursThanRows) {
  std::mt19937_64 random(kSeed + 1);
  for (const Index d : {Index{1}, Index{3}, Index{128}, kWide}) {
    const Matrix rows = make(Kind::normal, 4, d, random);
    for (const Index nb : {0, 1, 4}) {
      for (const Index nq : {0, 1, 4}) {
        for (const Index k : {1, 3, 100}) expect_answer(slice(rows.view(), 0, nq), slice(rows.view(), 0, nb), k);
      }
    }
  }
}

/// Far rows between those that a sample takes: scaled as the others are, they have no bound in float32. Their neighbours are each other.
TEST(PrunedEdges, RowsWithoutABoundAreFoundByAllAndFindTheirOwn) {
  std::mt19937_64 random(kSeed + 2);
  Matrix rows = make(Kind::normal, 3000, 3, random);
  for (Index i = 1; i < rows.rows; i += 300) {
    for (Index t = 0; t < rows.cols; ++t) rows.row(i)[t] = 1e60 * (1 + 1e-3 * rows.row(i)[t]);
  }
  const RowSet base = rows.view();
  for (const Metric metric : {Metric::l2, Metric::sqeuclidean, Metric::l1, Metric::linf}) {
    // The longer lists end with far rows.
    for (const Index k : {4, 2995}) {
      const RowSet queries = slice(base, 290, 312);
      const oracle::Answer want = oracle::knn(queries, base, {.metric = metric, .k = k});
      for (const std::string& isa : isas()) {
        SCOPED_TRACE(fmt::format("{}, {}, k {}", name_of(metric), isa, k));
        const ForcedIsa forced(isa);
        const Neighbours got = knn(queries, base, k, {.metric = {metric}, .prune = Pruning::on});
        EXPECT_TRUE(got.report.pruned);
        EXPECT_TRUE(same_bits(got, want));
      }
    }
  }
}

// The metrics of rows of any width.
constexpr Metric kMetrics[] = {Metric::l2, Metric::sqeuclidean, Metric::inner_product, Metric::cosine, Metric::l1, Metric::linf};
INSTANTIATE_TEST_SUITE_P(Metrics, Edges, ::testing::ValuesIn(kMetrics), [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace tessera::testing
