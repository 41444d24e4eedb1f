// SPDX-License-Identifier: Apache-2.0
#include "io/row_format.hpp"

#include <bit>

#include "io/bytes.hpp"
#include "io/npy_array.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

constexpr Index kMostU32 = std::numeric_limits<std::uint32_t>::max();
constexpr Index kMostI32 = std::numeric_limits<std::int32_t>::max();

std::string npy_start(DType dtype, Index rows, Index cols) {
  const std::size_t size = size_of(dtype);
  const char kind = !is_integer(dtype) ? 'f' : name_of(dtype).starts_with('u') ? 'u' : 'i';
  return npy_header(fmt::format("{}{}{}", size == 1 ? '|' : '<', kind, size), rows, cols);
}

std::string bin_start(DType, Index rows, Index cols) {
  std::string header;
  append_le<std::uint32_t>(header, static_cast<std::uint32_t>(rows));
  append_le<std::uint32_t>(header, static_cast<std::uint32_t>(cols));
  return header;
}

std::string vecs_start(Index cols) {
  std::string header;
  append_le<std::uint32_t>(header, static_cast<std::uint32_t>(cols));
  return header;
}

constexpr RowFormat bin(std::string_view name, std::string_view suffix, DType only, std::string_view other = {}) {
  RowFormat format{.name = name, .suffix = suffix, .other_suffix = other, .only = only};
  format.most_rows = format.most_cols = kMostU32;
  format.header = bin_start;
  return format;
}

constexpr RowFormat vecs(std::string_view name, std::string_view suffix, DType only) {
  RowFormat format{.name = name, .suffix = suffix, .only = only};
  format.most_cols = kMostI32;
  format.least_rows = 1;
  format.row_prefix = vecs_start;
  return format;
}

constexpr RowFormat kFormats[] = {
    {.name = "npy", .suffix = ".npy", .header = npy_start},
    bin("fbin", ".fbin", DType::f32),
    bin("u8bin", ".u8bin", DType::u8),
    bin("i8bin", ".i8bin", DType::i8),
    bin("f16bin", ".f16bin", DType::f16, ".hbin"),
    bin("ibin", ".ibin", DType::i32),
    bin("u64bin", ".u64bin", DType::u64),
    vecs("fvecs", ".fvecs", DType::f32),
    vecs("ivecs", ".ivecs", DType::i32),
    vecs("bvecs", ".bvecs", DType::u8),
    {.name = "csv", .suffix = ".csv", .other_suffix = ".txt", .only = DType::f64, .least_rows = 1, .text = true},
};

}  // namespace

std::span<const RowFormat> row_formats() noexcept { return kFormats; }

DType choose_row_dtype(const RowFormat& format, const std::string& path, std::optional<DType> rows,
                       const RowWriteOptions& options) {
  // Text is read back as float64, so float64 must hold its numbers; they may be rounded to a narrower float before.
  const bool text_float = format.text && options.dtype && !is_integer(*options.dtype);
  if (options.dtype && format.only && *options.dtype != *format.only && !text_float) {
    fail(ErrorCode::invalid_argument, "'{}': {} holds {} only, {} was asked for; write .npy, or another format", path,
         format.suffix, name_of(*format.only), name_of(*options.dtype));
  }
  DType dtype = options.dtype   ? *options.dtype
                : format.only   ? *format.only
                : rows          ? *rows
                                : DType::f32;
  if (!options.dtype && !format.only) {
    if (options.normalize && dtype != DType::f64) dtype = DType::f32;
    if (dtype == DType::bf16) dtype = DType::f32;  // numpy has no name for it; float32 holds it exactly
  }
  if (options.normalize && is_integer(dtype)) {
    fail(ErrorCode::invalid_argument, "'{}': rows of length 1 are no {}; choose a float type, e.g. .fbin or .npy", path,
         name_of(dtype));
  }
  if (dtype == DType::bf16 && !format.text) {
    fail(ErrorCode::invalid_argument, "'{}': {} has no bfloat16; write float32, which holds the same numbers", path,
         format.suffix);
  }
  return dtype;
}

}  // namespace tessera::io
