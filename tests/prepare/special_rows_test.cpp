// SPDX-License-Identifier: Apache-2.0
#include "prepare/special_rows.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "engine/workers.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "tessera/error.hpp"

namespace tessera::testing {
namespace {

using prepare::find_special_rows;
using prepare::RowReader;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

core::SpecialRows find(const RowSet& rows, bool unit_rows, NanPolicy nan) {
  const auto executor = engine::make_executor(2);
  return find_special_rows(RowReader(kernels_of(isas().back()), rows, unit_rows), nan, "base", *executor);
}

std::string message_of(const RowSet& rows, NanPolicy nan) {
  try {
    find(rows, false, nan);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::malformed_input);
    return e.what();
  }
  return "";
}

TEST(SpecialRows, ListsRowsThatAreNotFiniteInOrder) {
  Matrix m = zeros(5000, 3);
  for (double& v : m.values) v = 1;
  for (const Index bad : {4999, 0, 1023, 1024, 2500}) m.row(bad)[bad % 3] = bad % 2 == 0 ? kNan : std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Stored stored(m, dtype);
    EXPECT_EQ(find(stored.rows(), false, NanPolicy::skip).skipped, (std::vector<Index>{0, 1023, 1024, 2500, 4999})) << name_of(dtype);
    EXPECT_TRUE(find(stored.rows(), false, NanPolicy::skip).zero.empty());
  }
}

TEST(SpecialRows, NameTheFirstBadRowByItsIdAndCountThem) {
  Matrix m = zeros(3000, 2);
  m.row(2999)[0] = kNan;
  m.row(1500)[1] = kNan;
  RowSet rows = m.view();
  rows.first_id = 100;
  const std::string message = message_of(rows, NanPolicy::error);
  EXPECT_NE(message.find("row 1600"), std::string::npos) << message;
  EXPECT_NE(message.find("first of 2"), std::string::npos) << message;
}

TEST(SpecialRows, ListZeroRowsOnlyWhereRowsAreNormalised) {
  Matrix m = zeros(4, 2);
  m.row(1)[0] = 1;
  m.row(3)[1] = -0.0;
  EXPECT_EQ(find(m.view(), true, NanPolicy::error).zero, (std::vector<Index>{0, 2, 3}));
  EXPECT_TRUE(find(m.view(), false, NanPolicy::error).zero.empty());
}

TEST(SpecialRows, RejectFloat64WhoseSquaresWouldOverflow) {
  Matrix m = zeros(10, 2);
  m.row(7)[1] = -0x1p500;
  EXPECT_EQ(message_of(m.view(), NanPolicy::error), "") << "2^500 itself is fine";
  m.row(7)[1] = -0x1.0000000000001p500;
  EXPECT_NE(message_of(m.view(), NanPolicy::skip).find("row 7"), std::string::npos) << "skipping is for rows that are not finite";
}

TEST(SpecialRows, RejectIntegersThatDoubleCannotHold) {
  const std::int64_t limit = std::int64_t{1} << 53;
  for (const std::int64_t v : {limit, -limit}) {
    const std::int64_t rows[] = {1, v};
    EXPECT_EQ(message_of(dense(rows, DType::i64, 2, 1), NanPolicy::error), "");
  }
  for (const std::int64_t v : {limit + 1, -limit - 1, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    const std::int64_t rows[] = {1, v};
    EXPECT_NE(message_of(dense(rows, DType::i64, 2, 1), NanPolicy::error).find("row 1"), std::string::npos) << v;
  }
  const std::uint64_t rows[] = {static_cast<std::uint64_t>(limit) + 1};
  EXPECT_NE(message_of(dense(rows, DType::u64, 1, 1), NanPolicy::error).find("row 0"), std::string::npos);
  const std::uint64_t swapped[] = {__builtin_bswap64(static_cast<std::uint64_t>(limit) + 1)};
  RowSet turned = dense(swapped, DType::u64, 1, 1);
  turned.byte_swapped = true;
  EXPECT_NE(message_of(turned, NanPolicy::error).find("row 0"), std::string::npos);
}

}  // namespace
}  // namespace tessera::testing
