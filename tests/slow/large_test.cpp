// SPDX-License-Identifier: Apache-2.0
// Bases of many tiles and rows of many elements, where thresholds grow stale, lists are merged and chains are long.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/metrics.hpp"
#include "tessera/knn.hpp"

namespace tessera::testing {
namespace {


struct Shape {
  Index nb, nq, d, k;
};

class LargeBase : public ::testing::TestWithParam<Metric> {};

TEST_P(LargeBase, MeetsTheOracle) {
  constexpr Shape kShapes[] = {{20000, 30, 24, 100}, {12000, 40, 7, 12000}, {3000, 12, 2000, 5}, {30000, 17, 3, 64}};
  constexpr Kind kKinds[] = {Kind::normal, Kind::huge_offset, Kind::duplicates, Kind::mixed_scales, Kind::two_clusters, Kind::small_integers, Kind::one_huge_row};
  std::mt19937_64 random(99);
  for (const Shape& s : kShapes) {
    for (const Kind kind : kKinds) {
      const Stored base(make(kind, s.nb, s.d, random), DType::f32);
      const Stored queries(make(kind, s.nq, s.d, random), DType::f32);
      const oracle::Answer want = oracle::knn(queries.rows(), base.rows(), {.metric = GetParam(), .k = s.k});
      for (const std::string& isa : isas()) {
        const ForcedIsa forced(isa);
        for (const Schedule schedule : {Schedule::by_query, Schedule::by_base}) {
          SCOPED_TRACE(fmt::format("{}, {}, nb {}, d {}, k {}, {}", isa, name_of(kind), s.nb, s.d, s.k, name_of(schedule)));
          const KnnOptions options{.metric = {GetParam()}, .distances = DistanceType::float64, .schedule = schedule, .threads = 2};
          EXPECT_TRUE(same_bits(knn(queries.rows(), base.rows(), s.k, options), want));
          if (HasFailure()) return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, LargeBase, ::testing::ValuesIn(vector_metrics()), [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace tessera::testing
