// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "tessera/graph.hpp"

namespace tessera::testing {
namespace {

TEST(DuplicateRows, AreThoseEqualToAnEarlierOne) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> rows = {1, 2, 0, 0, 1, 2, -0.0F, 0, 2, 1, nan, 1, nan, 1, 1, 2};
  EXPECT_EQ(count_duplicate_rows(dense(rows.data(), 8, 2)), 3);  // rows 2, 3 and 7
}

TEST(DuplicateRows, AreFoundInEveryTypeOrderAndStride) {
  const std::vector<std::int16_t> native = {1, 256, 9, 7, 7, 9, 1, 256, 9};
  RowSet rows = dense(native.data(), DType::i16, 3, 3);
  EXPECT_EQ(count_duplicate_rows(rows), 1);
  rows.byte_swapped = true;
  EXPECT_EQ(count_duplicate_rows(rows), 1);
  rows.cols = 1;  // the first column alone: 1, 7, 1
  EXPECT_EQ(count_duplicate_rows(rows), 1);
  const std::vector<double> same(12, 0.1);
  EXPECT_EQ(count_duplicate_rows(dense(same.data(), 6, 2)), 5);
  EXPECT_EQ(count_duplicate_rows(dense(same.data(), 0, 2)), 0);
}

TEST(DuplicateRows, OfDistributionsHoldTheSameSamplesInAnyOrder) {
  const std::int64_t values[] = {3, 1, (1LL << 60) + 1, 1, 3, 1, 3, (1LL << 60), 1, (1LL << 60) + 1, 3, 1, -3, 1};
  const Index offsets[] = {0, 3, 5, 8, 11, 12, 14};
  const RowSet rows = ragged(values, DType::i64, offsets, 6);  // row 2 differs from 0 in the last bit alone, row 3 in its order alone
  EXPECT_EQ(count_duplicate_rows(rows, true), 1);
  const double weights[] = {1, 2, 3, 1, 2, 2, 1, 3, 2, 3, 1, 1, 0, 1};  // rows 3 and 5: the same as 0 and 4, with weights
  EXPECT_EQ(count_duplicate_rows(weighted(rows, weights, DType::f64), true), 2);
  const double other[] = {1, 2, 3, 1, 2, 2, 1, 3, 3, 2, 1, 1, 0, 1};
  EXPECT_EQ(count_duplicate_rows(weighted(rows, other, DType::f64), true), 1);
  EXPECT_EQ(count_duplicate_rows(slice(rows, 3, 6), true), 0);
}

}  // namespace
}  // namespace tessera::testing
