// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

std::vector<double> read(const std::string& text) { return elements<double>(open_bytes(as_bytes(text), "csv").rows()); }

TEST(Text, ReadsCommasAndBlanks) {
  const std::vector<double> want{1, 2.5, -3e2, 4};
  EXPECT_EQ(read("1,2.5\n-3e2,4\n"), want);
  EXPECT_EQ(read("1 2.5\n-3e2\t 4"), want);
  EXPECT_EQ(read("  1 , 2.5 \r\n\r\n-3e2, +4\r\n"), want);
}

TEST(Text, SkipsAHeaderLineCommentsAndTheByteOrderMark) {
  EXPECT_EQ(read("\xef\xbb\xbfx,y\n1,2\n"), (std::vector<double>{1, 2}));
  EXPECT_EQ(read("# from numpy\n1 2\n# more\n3 4\n"), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Text, ReadsEveryDoubleExactly) {
  EXPECT_EQ(read("0.1 1.7976931348623157e308 -4.9e-324\n"),
            (std::vector<double>{0.1, 1.7976931348623157e308, -4.9e-324}));
  const std::vector<double> special = read("inf -inf nan -0.0\n");
  EXPECT_TRUE(std::isinf(special[0]) && std::isinf(special[1]) && std::isnan(special[2]) && std::signbit(special[3]));
}

TEST(Text, NamesTheLineAndTheToken) {
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, "1,2\n3,four\n", "csv"), "line 2: 'four'");
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, "1,2\n\n3,\n", "csv"), "line 3: ''");
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, "1,x\n3,4\n", "csv"), "line 1: 'x'");
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, "1 1e999\n", "csv"), "'1e999'");
}

TEST(Text, RefusesRowsOfDifferentLengths) {
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, "1,2\n3,4,5\n", "csv"),
                  "line 2: 3 numbers, earlier lines have 2");
}

TEST(Text, RefusesTextWithoutNumbers) {
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, "x,y\n", "csv"), "no line with numbers");
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, "\n", "csv"), "no line with numbers");
}

TEST(Text, TakesRanges) {
  const std::string text = "1\n2\n3\n4\n";
  const RowFile file = open_bytes(as_bytes(text), "csv", range(1, 3));
  EXPECT_EQ(elements<double>(file.rows()), (std::vector<double>{2, 3}));
  EXPECT_EQ(file.rows().first_id, 1);
  EXPECT_EQ(file.file_rows(), 4);
}

}  // namespace
}  // namespace tessera::io::test
