// SPDX-License-Identifier: Apache-2.0
#include "tessera/cell.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/error.hpp"

namespace tessera::testing {
namespace {

TEST(Cell, TakesLengthsAnglesAndRows) {
  EXPECT_EQ(parse_cell("5, 6 7"), (Cell{{{{5, 0, 0}, {0, 6, 0}, {0, 0, 7}}}}));
  EXPECT_EQ(parse_cell("5 6 7 90 90 90"), parse_cell("5 6 7")) << "right angles give exact zeros";
  EXPECT_EQ(parse_cell("1 2 3\n4 5 6\n7 8 10\n").rows[1], (std::array<double, 3>{4, 5, 6}));
  EXPECT_EQ(parse_cell("4").pbc, (std::array<bool, 3>{true, false, false}));
  EXPECT_EQ(parse_cell("4 5").rows[1][1], 5);
  EXPECT_EQ(parse_cell("4 1 2 5").rows[1], (std::array<double, 3>{2, 5, 0}));
  EXPECT_EQ(parse_cell("+4 -1e0 2 5").rows[0][1], -1);
}

TEST(Cell, FollowsTheCrystallographersConvention) {
  const Cell cell = parse_cell("3 4 5 60 70 80");
  const auto dot = [&](std::size_t a, std::size_t b) { return cell.rows[a][0] * cell.rows[b][0] + cell.rows[a][1] * cell.rows[b][1] + cell.rows[a][2] * cell.rows[b][2]; };
  EXPECT_NEAR(std::sqrt(dot(0, 0)), 3, 1e-14);
  EXPECT_NEAR(std::sqrt(dot(1, 1)), 4, 1e-14);
  EXPECT_NEAR(std::sqrt(dot(2, 2)), 5, 1e-14);
  const double degree = std::acos(-1.0) / 180;
  EXPECT_NEAR(dot(1, 2), 20 * std::cos(60 * degree), 1e-13);
  EXPECT_NEAR(dot(0, 2), 15 * std::cos(70 * degree), 1e-13);
  EXPECT_NEAR(dot(0, 1), 12 * std::cos(80 * degree), 1e-13);
  EXPECT_EQ(cell.rows[0][1], 0);
  EXPECT_EQ(cell.rows[1][2], 0);
  EXPECT_GT(cell.rows[2][2], 0);
}

TEST(Cell, RefusesWhatIsNoCell) {
  for (const char* text : {"", "1 2 3 4 5", "1 2 3 4 5 6 7", "1 2 0", "1 2 -3", "1 2 x", "1 2 3x", "1 2 nan", "1 2 inf", "1 2 3 90 90 180", "1 2 3 90 90 0", "1 2 3 20 20 90",
                           "1 2 3 150 150 150"}) {
    EXPECT_THROW(parse_cell(text), Error) << text;
  }
  for (const char* text : {"", "TT", "TTTT", "TTX", "T T"}) EXPECT_THROW(parse_pbc(text), Error) << text;
  EXPECT_EQ(parse_pbc("TtF"), (std::array<bool, 3>{true, true, false}));
  EXPECT_EQ(parse_pbc("1, 0, T"), (std::array<bool, 3>{true, false, true}));
}

}  // namespace
}  // namespace tessera::testing
