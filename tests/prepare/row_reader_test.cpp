// SPDX-License-Identifier: Apache-2.0
#include "prepare/row_reader.hpp"

#include <gtest/gtest.h>

#include <random>

#include "contract/oracle.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

TEST(RowReader, PadsToSixteenLanes) {
  EXPECT_EQ(prepare::padded_cols(1), 16);
  EXPECT_EQ(prepare::padded_cols(16), 16);
  EXPECT_EQ(prepare::padded_cols(17), 32);
}

TEST(RowReader, ReadsRowsAsTheMetricTakesThem) {
  std::mt19937_64 random(30);
  const Stored stored(make(Kind::zero_rows, 9, 20, random), DType::f32, Layout::negative_stride);
  for (const std::string& isa : isas()) {
    for (const Metric metric : {Metric::l2, Metric::cosine}) {
      const prepare::RowReader reader(kernels_of(isa), stored.rows(), metric == Metric::cosine);
      std::vector<double> got(32, -1.0);
      for (Index i = 0; i < 9; ++i) {
        reader.read(i, got.data());
        std::vector<double> want = oracle::read_row(stored.rows(), i, metric);
        want.resize(32, 0.0);
        EXPECT_EQ(got, want) << isa << ", row " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
