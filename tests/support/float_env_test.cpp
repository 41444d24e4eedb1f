// SPDX-License-Identifier: Apache-2.0
#include "support/float_env.hpp"

#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include <cfenv>
#include <random>

#include "contract/compare.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "tessera/knn.hpp"

namespace tessera::testing {
namespace {

TEST(StrictFloatEnv, SetsNearestRoundingAndRestoresWhatWasThere) {
  std::fesetround(FE_DOWNWARD);
  int inside = -1;
  {
    const support::StrictFloatEnv strict;
    inside = std::fegetround();
  }
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(inside, FE_TONEAREST);
  EXPECT_EQ(after, FE_DOWNWARD);
}

#if defined(__x86_64__)

constexpr unsigned kFlushToZero = 0x8000;
constexpr unsigned kDenormalsAreZero = 0x0040;
constexpr unsigned kControl = 0x8000 | 0x0040 | 0x6000;  // FTZ, DAZ, rounding

/// What a host program built with -ffast-math leaves behind, and upward rounding on top; undone at the end of the scope.
class HostileEnvironment {
 public:
  HostileEnvironment() {
    std::fesetround(FE_UPWARD);
    _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
  }
  ~HostileEnvironment() {
    _mm_setcsr(_mm_getcsr() & ~kControl);
    std::fesetround(FE_TONEAREST);
  }
};

TEST(StrictFloatEnv, ClearsFlushToZeroAndDenormalsAreZero) {
  const HostileEnvironment hostile;
  const support::StrictFloatEnv strict;
  EXPECT_EQ(_mm_getcsr() & kControl, 0U);
}

TEST(Knn, GivesTheSameBitsInAHostileFloatingPointEnvironmentAndLeavesItAlone) {
  std::mt19937_64 random(40);
  for (const Kind kind : {Kind::normal, Kind::denormal, Kind::tiny, Kind::huge_offset}) {
    const Stored base(make(kind, 300, 20, random), DType::f32);
    const Stored queries(make(kind, 20, 20, random), DType::f32);
    for (const Metric metric : {Metric::l2, Metric::cosine, Metric::inner_product, Metric::l1}) {
      for (const std::string& isa : isas()) {
        for (const int threads : {1, 2}) {
          SCOPED_TRACE(isa + ", " + std::string(name_of(kind)) + ", " + std::string(name_of(metric)));
          const ForcedIsa forced(isa);
          const KnnOptions options{.metric = {metric}, .distances = DistanceType::float64, .threads = threads};
          const Neighbours want = knn(queries.rows(), base.rows(), 10, options);
          Neighbours got;
          Neighbours prepared;
          unsigned after = 0;
          int rounding = 0;
          {
            const HostileEnvironment hostile;
            got = knn(queries.rows(), base.rows(), 10, options);
            prepared = PreparedBase(base.rows(), options).search(queries.rows(), 10);
            after = _mm_getcsr() & (kFlushToZero | kDenormalsAreZero);
            rounding = std::fegetround();
          }
          EXPECT_TRUE(same_bits(got, want));
          EXPECT_TRUE(same_bits(prepared, want));
          EXPECT_EQ(after, kFlushToZero | kDenormalsAreZero);
          EXPECT_EQ(rounding, FE_UPWARD);
        }
      }
    }
  }
}

#endif

}  // namespace
}  // namespace tessera::testing
