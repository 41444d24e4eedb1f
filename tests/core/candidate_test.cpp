// SPDX-License-Identifier: Apache-2.0
#include "core/candidate.hpp"

#include <gtest/gtest.h>

namespace tessera::testing {
namespace {

using core::Candidate;

TEST(Candidate, IsOrderedByKeyThenIdThenPaddingLast) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Candidate ascending[] = {{-1.0, 9}, {-0.5, 0}, {0.0, 3}, {0.0, 4}, {2.0, 1}, {kInfinity, 0}, {kInfinity, 7}, {}};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t j = 0; j < std::size(ascending); ++j) EXPECT_EQ(ascending[i] < ascending[j], i < j) << i << ", " << j;
  }
}

TEST(Candidate, TakesBothZerosForOneKey) {
  EXPECT_TRUE((Candidate{0.0, 1} < Candidate{-0.0, 2}));
  EXPECT_TRUE((Candidate{-0.0, 1} < Candidate{0.0, 2}));
}

}  // namespace
}  // namespace tessera::testing
