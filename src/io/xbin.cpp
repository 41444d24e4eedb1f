// SPDX-License-Identifier: Apache-2.0
// big-ann-benchmarks: u32 n, u32 d, then n·d elements, little-endian. A header of two u64 also occurs.
#include "io/format.hpp"
#include "io/layout.hpp"
#include "io/looks_like.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

bool fits(Bytes bytes, const Layout& layout) {
  std::uint64_t size = 0;
  return !__builtin_mul_overflow(layout.rows, layout.cols, &size) &&
         !__builtin_mul_overflow(size, size_of(layout.dtype), &size) &&
         !__builtin_add_overflow(size, layout.offset, &size) && size == bytes.size();
}

/// Tells the two headers apart by the size they promise; without a fit, a zero d is the upper half of a u64 n.
Layout read_header(const Input& input, DType dtype) {
  const std::byte* p = input.bytes.data();
  const Layout narrow{
      .dtype = dtype, .offset = 8, .rows = load_le<std::uint32_t>(p), .cols = load_le<std::uint32_t>(p + 4)};
  if (fits(input.bytes, narrow) || input.bytes.size() < 16) return narrow;
  const Layout wide{
      .dtype = dtype, .offset = 16, .rows = load_le<std::uint64_t>(p), .cols = load_le<std::uint64_t>(p + 8)};
  return fits(input.bytes, wide) || narrow.cols == 0 ? wide : narrow;
}

template <DType dtype>
Decoded read_xbin(const Input& input) {
  if (input.bytes.size() < 8) {
    support::fail(ErrorCode::malformed_input,
                  "'{}' is truncated: a {} header is 8 bytes, the file has {}; fetch it again{}", input.name,
                  input.format, input.bytes.size(), looks_like(input.bytes, input.format).text);
  }
  return view_rows(input, read_header(input, dtype));
}

constexpr Format kFormats[] = {
    {.name = "fbin", .suffixes = {".fbin"}, .read = read_xbin<DType::f32>},
    {.name = "u8bin", .suffixes = {".u8bin"}, .read = read_xbin<DType::u8>},
    {.name = "i8bin", .suffixes = {".i8bin"}, .read = read_xbin<DType::i8>},
    {.name = "ibin", .suffixes = {".ibin"}, .read = read_xbin<DType::i32>},
    {.name = "f16bin", .suffixes = {".f16bin", ".hbin"}, .read = read_xbin<DType::f16>},
    {.name = "u64bin", .suffixes = {".u64bin"}, .read = read_xbin<DType::u64>},
};

}  // namespace

std::span<const Format> xbin_formats() noexcept { return kFormats; }

}  // namespace tessera::io
