// SPDX-License-Identifier: Apache-2.0
// TEXMEX: every row is an int32 d, then d elements, little-endian. The rows are viewed where they lie, unaligned.
#include <algorithm>
#include <limits>

#include "io/format.hpp"
#include "io/layout.hpp"
#include "io/looks_like.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

/// The first row's d; throws unless it is a dimension.
std::uint64_t read_dimension(const Input& input) {
  if (input.bytes.size() < 4) {
    fail(ErrorCode::malformed_input,
         "'{}' is truncated: a row's dimension takes 4 bytes, the file has {}; fetch it again", input.name,
         input.bytes.size());
  }
  const auto d = static_cast<std::int32_t>(load_le<std::uint32_t>(input.bytes.data()));
  if (d < 1) {
    fail(ErrorCode::malformed_input, "'{}': row 0 says d = {}; wanted d >= 1 (is it {}?){}", input.name, d,
         input.format, looks_like(input.bytes, input.format).text);
  }
  return static_cast<std::uint64_t>(d);
}

/// Checks d on every row up to the last one asked for: a wrong d means that all later rows lie elsewhere.
void check_dimensions(const Input& input, std::uint64_t d, std::uint64_t stride) {
  const std::uint64_t whole = input.bytes.size() / stride;
  const std::uint64_t last = input.last_row < 0 ? whole : std::min(whole, static_cast<std::uint64_t>(input.last_row));
  for (std::uint64_t row = 0; row < last; ++row) {
    const auto seen = static_cast<std::int32_t>(load_le<std::uint32_t>(input.bytes.data() + row * stride));
    if (seen == static_cast<std::int32_t>(d)) continue;
    fail(ErrorCode::malformed_input, "'{}': row {} says d = {}, row 0 says {}; all rows need the same d (is it {}?){}",
         input.name, row, seen, d, input.format, looks_like(input.bytes, input.format).text);
  }
}

template <DType dtype>
Decoded read_xvecs(const Input& input) {
  const std::uint64_t d = read_dimension(input);
  const std::uint64_t stride = 4 + d * size_of(dtype);
  check_dimensions(input, d, stride);
  // There is no row count to compare with: a last row that is cut off counts as promised.
  const std::uint64_t rows = (input.bytes.size() + stride - 1) / stride;
  return view_rows(input, {.dtype = dtype, .rows = rows, .cols = d, .row_prefix = 4});
}

constexpr Format kFormats[] = {
    {.name = "fvecs", .suffixes = {".fvecs"}, .read = read_xvecs<DType::f32>},
    {.name = "ivecs", .suffixes = {".ivecs"}, .read = read_xvecs<DType::i32>},
    {.name = "bvecs", .suffixes = {".bvecs"}, .read = read_xvecs<DType::u8>},
};

}  // namespace

std::span<const Format> xvecs_formats() noexcept { return kFormats; }

}  // namespace tessera::io
