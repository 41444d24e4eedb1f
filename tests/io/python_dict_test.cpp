// SPDX-License-Identifier: Apache-2.0
#include "io/python_dict.hpp"

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

TEST(PythonReader, ReadsStringsBooleansTuplesAndBrackets) {
  PythonReader reader(" 'a' \"b\" True False () (3,) ( 3 , 4L ) [[], [1]] ", "x");
  EXPECT_EQ(reader.string(), "a");
  EXPECT_EQ(reader.string(), "b");
  EXPECT_TRUE(reader.boolean());
  EXPECT_FALSE(reader.boolean());
  EXPECT_TRUE(reader.tuple().empty());
  EXPECT_EQ(reader.tuple(), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(reader.tuple(), (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(reader.bracketed(), "[[], [1]]");
  EXPECT_TRUE(reader.at_end());
}

TEST(PythonReader, ThrowsAtTheEndInsteadOfReadingOn) {
  error_of(ErrorCode::malformed_input, [] { PythonReader("", "x").string(); });
  error_of(ErrorCode::malformed_input, [] { PythonReader("'", "x").string(); });
  error_of(ErrorCode::malformed_input, [] { PythonReader("(1,", "x").tuple(); });
  error_of(ErrorCode::malformed_input, [] { PythonReader("[[]", "x").bracketed(); });
  error_of(ErrorCode::malformed_input, [] { PythonReader("Tru", "x").boolean(); });
}

TEST(PythonReader, TakesAZeroByteForNoEnd) {
  PythonReader reader(std::string_view("\0a", 2), "x");
  EXPECT_FALSE(reader.at_end());
}

}  // namespace
}  // namespace tessera::io::test
