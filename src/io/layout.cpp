// SPDX-License-Identifier: Apache-2.0
#include "io/layout.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "io/looks_like.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

/// a·b + c, or nothing past 2^63 - 1 (offsets are signed).
std::optional<std::uint64_t> checked(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out) || __builtin_add_overflow(out, c, &out)) return std::nullopt;
  if (out > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return out;
}

struct Sizes {
  std::optional<std::uint64_t> row;   // bytes of one row, prefix included
  std::optional<std::uint64_t> need;  // bytes the promise takes
  std::uint64_t whole = 0;            // rows that are there in full
};

Sizes measure(const Input& input, const Layout& layout) {
  Sizes sizes;
  sizes.row = checked(layout.cols, size_of(layout.dtype), layout.row_prefix);
  if (sizes.row) sizes.need = checked(*sizes.row, layout.rows, layout.offset);
  const std::uint64_t have = input.bytes.size();
  if (sizes.need && *sizes.need <= have) {
    sizes.whole = layout.rows;
  } else if (sizes.row && have > layout.offset && !layout.by_columns) {
    sizes.whole = std::min(layout.rows, (have - layout.offset) / *sizes.row);
  }
  return sizes;
}

/// "10 rows of 4 float32 need 168 bytes, the file has 100"
std::string promise_and_fact(const Input& input, const Layout& layout, const Sizes& sizes) {
  return fmt::format("{} rows of {} {} need {} bytes, the file has {}", layout.rows, layout.cols, name_of(layout.dtype),
                     sizes.need ? std::to_string(*sizes.need) : "more than 2^63", input.bytes.size());
}

[[noreturn]] void fail_truncated(const Input& input, const Layout& layout, const Sizes& sizes, const Guess& guess) {
  std::string next;
  if (layout.by_columns) {
    next = "its columns are stored one after the other (Fortran order), so no row is whole; fetch or write it again";
  } else if (sizes.whole == 0) {
    next = "0 whole rows; fetch or write it again";
  } else {
    next = fmt::format("{} whole rows; fetch it again, or read only the row range 0:{}", sizes.whole, sizes.whole);
  }
  fail(ErrorCode::malformed_input, "'{}' is truncated: {}: {}{}", input.name, promise_and_fact(input, layout, sizes),
       next, guess.text);
}

void check_size(const Input& input, const Layout& layout, const Sizes& sizes) {
  const std::uint64_t have = input.bytes.size();
  if (sizes.need && *sizes.need == have) return;
  const Guess guess = looks_like(input.bytes, input.format);
  if (sizes.need && *sizes.need < have) {
    fail(ErrorCode::malformed_input, "'{}' is too long: {}: {} bytes too many; check its format (--in-format){}",
         input.name, promise_and_fact(input, layout, sizes), have - *sizes.need, guess.text);
  }
  const bool prefix_asked = input.last_row >= 0 && static_cast<std::uint64_t>(input.last_row) <= sizes.whole;
  if (!prefix_asked || sizes.whole == 0 || guess.sure) fail_truncated(input, layout, sizes, guess);
}

}  // namespace

RowRange range_of(const Input& input, Index rows) {
  const Index last = input.last_row < 0 ? rows : input.last_row;
  if (input.first_row < 0 || input.last_row < -1 || last > rows || input.first_row > last) {
    fail(ErrorCode::invalid_argument, "'{}': rows {}:{} asked for, the file has {}; give A:B with 0 <= A <= B <= {}",
         input.name, input.first_row, last, rows, rows);
  }
  return {input.first_row, last};
}

RowSet take_range(const Input& input, const RowSet& all) {
  const RowRange range = range_of(input, all.rows);
  return slice(all, range.first, range.last);
}

Decoded view_rows(const Input& input, const Layout& layout) {
  if (layout.cols == 0) {
    fail(ErrorCode::malformed_input, "'{}': {} rows of dimension 0; rows need at least 1 column{}", input.name,
         layout.rows, looks_like(input.bytes, input.format).text);
  }
  const Sizes sizes = measure(input, layout);
  check_size(input, layout, sizes);
  const Index item = static_cast<Index>(size_of(layout.dtype));
  RowSet all;
  all.data = input.bytes.data() + layout.offset + (sizes.whole > 0 ? layout.row_prefix : 0);
  all.dtype = layout.dtype;
  all.rows = static_cast<Index>(sizes.whole);
  all.cols = static_cast<Index>(layout.cols);
  all.row_stride = layout.by_columns ? item : static_cast<Index>(*sizes.row);
  all.col_stride = layout.by_columns ? item * all.rows : item;
  all.byte_swapped = is_swapped(layout.order, layout.dtype);
  return {take_range(input, all), all.rows, nullptr};
}

}  // namespace tessera::io
