// SPDX-License-Identifier: Apache-2.0
#include "io/layout.hpp"

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

Input input_of(const std::string& bytes, Index first, Index last) {
  return {.bytes = as_bytes(bytes), .name = "x", .member = "", .format = "raw", .first_row = first, .last_row = last};
}

TEST(Layout, KeepsTheFilesRowNumbersInARange) {
  const std::string bytes(40, 'a');
  const Decoded part = view_rows(input_of(bytes, 3, 7), {.dtype = DType::u8, .rows = 10, .cols = 4});
  EXPECT_EQ(part.rows.rows, 4);
  EXPECT_EQ(part.rows.first_id, 3);
  EXPECT_EQ(part.rows.data, bytes.data() + 12);
  EXPECT_EQ(part.file_rows, 10);
}

TEST(Layout, AllowsAnEmptyRange) {
  const std::string bytes(40, 'a');
  EXPECT_EQ(view_rows(input_of(bytes, 10, -1), {.dtype = DType::u8, .rows = 10, .cols = 4}).rows.rows, 0);
}

TEST(Layout, RefusesRangesThatLeaveTheFile) {
  const std::string bytes(40, 'a');
  const std::pair<Index, Index> ranges[] = {{0, 11}, {11, -1}, {5, 4}, {-1, 3}, {0, -2}};
  for (const auto& [first, last] : ranges) {
    const std::string message = error_of(ErrorCode::invalid_argument, [&, a = first, b = last] {
      view_rows(input_of(bytes, a, b), {.dtype = DType::u8, .rows = 10, .cols = 4});
    });
    EXPECT_CONTAINS(message, "the file has 10");
  }
}

TEST(Layout, NamesExpectedAndActualBytesAndWholeRowsOfATruncatedFile) {
  const std::string bytes(35, 'a');
  const std::string message = error_of(ErrorCode::malformed_input, [&] {
    view_rows(input_of(bytes, 0, -1), {.dtype = DType::u8, .rows = 10, .cols = 4});
  });
  EXPECT_CONTAINS(message, "need 40 bytes, the file has 35");
  EXPECT_CONTAINS(message, "8 whole rows");
}

TEST(Layout, ReadsAPrefixOfATruncatedFileOnlyWithinItsWholeRows) {
  const std::string bytes(35, 'a');
  const Layout layout{.dtype = DType::u8, .rows = 10, .cols = 4};
  const Decoded prefix = view_rows(input_of(bytes, 2, 8), layout);
  EXPECT_EQ(prefix.rows.rows, 6);
  EXPECT_EQ(prefix.file_rows, 8);
  error_of(ErrorCode::malformed_input, [&] { view_rows(input_of(bytes, 2, 9), layout); });
}

TEST(Layout, RefusesBytesBeyondThePromise) {
  const std::string bytes(41, 'a');
  const std::string message = error_of(ErrorCode::malformed_input, [&] {
    view_rows(input_of(bytes, 0, -1), {.dtype = DType::u8, .rows = 10, .cols = 4});
  });
  EXPECT_CONTAINS(message, "1 bytes too many");
}

}  // namespace
}  // namespace tessera::io::test
