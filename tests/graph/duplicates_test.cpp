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

}  // namespace
}  // namespace tessera::testing
