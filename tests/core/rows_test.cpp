// SPDX-License-Identifier: Apache-2.0
#include "tessera/rows.hpp"

#include <gtest/gtest.h>

#include "tessera/error.hpp"

namespace tessera::testing {
namespace {

TEST(DTypes, KnowTheirSizesAndNames) {
  const std::size_t sizes[] = {8, 4, 2, 2, 1, 1, 2, 2, 4, 4, 8, 8};
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(size_of(dtype), sizes[i]);
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
    EXPECT_EQ(is_integer(dtype), i >= 4);
  }
  EXPECT_EQ(parse_dtype("f32"), DType::f32);
  EXPECT_EQ(parse_dtype("u8"), DType::u8);
  EXPECT_EQ(parse_dtype("float"), std::nullopt);
}

TEST(RowSet, SlicesKeepTheIdsOfTheirRows) {
  const float data[12] = {};
  RowSet rows = dense(data, 4, 3);
  EXPECT_EQ(rows.row_stride, 12);
  EXPECT_EQ(rows.col_stride, 4);
  rows.first_id = 10;
  const RowSet part = slice(slice(rows, 1, 4), 1, 3);
  EXPECT_EQ(part.rows, 2);
  EXPECT_EQ(part.first_id, 12);
  EXPECT_EQ(part.data, data + 6);
  EXPECT_EQ(slice(rows, 4, 4).rows, 0);
}

TEST(RowSet, RefusesSlicesThatLeaveIt) {
  const float data[12] = {};
  const RowSet rows = dense(data, 4, 3);
  for (const auto& [first, last] : {std::pair<Index, Index>{-1, 2}, {0, 5}, {3, 2}, {5, 5}}) EXPECT_THROW(slice(rows, first, last), Error) << first << ":" << last;
}

}  // namespace
}  // namespace tessera::testing
