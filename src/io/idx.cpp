// SPDX-License-Identifier: Apache-2.0
// IDX, the format of MNIST: bytes 0 0 type ndim, ndim u32 sizes, then the elements; all big-endian. Viewed as
// [n, product of the other sizes].
#include <optional>

#include "io/format.hpp"
#include "io/layout.hpp"
#include "io/looks_like.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

std::optional<DType> dtype_of(std::byte type) noexcept {
  switch (static_cast<unsigned>(type)) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0b: return DType::i16;
    case 0x0c: return DType::i32;
    case 0x0d: return DType::f32;
    case 0x0e: return DType::f64;
    default: return std::nullopt;
  }
}

bool sniff_idx(Bytes bytes) noexcept {
  if (bytes.size() < 8 || bytes[0] != std::byte{0} || bytes[1] != std::byte{0}) return false;
  const auto ndim = static_cast<std::size_t>(bytes[3]);
  return dtype_of(bytes[2]).has_value() && ndim >= 1 && ndim <= 8 && bytes.size() >= 4 + 4 * ndim;
}

DType read_magic(const Input& input) {
  if (input.bytes.size() < 4) {
    fail(ErrorCode::malformed_input,
         "'{}' is truncated: an IDX header is at least 8 bytes, the file has {}; fetch it again", input.name,
         input.bytes.size());
  }
  const auto dtype = dtype_of(input.bytes[2]);
  if (input.bytes[0] != std::byte{0} || input.bytes[1] != std::byte{0} || !dtype || input.bytes[3] == std::byte{0}) {
    fail(ErrorCode::malformed_input,
         "'{}': first bytes {:02x} {:02x} {:02x} {:02x}; IDX wants 00 00, a type 08-0e, ndim >= 1{}", input.name,
         static_cast<unsigned>(input.bytes[0]), static_cast<unsigned>(input.bytes[1]),
         static_cast<unsigned>(input.bytes[2]), static_cast<unsigned>(input.bytes[3]),
         looks_like(input.bytes, input.format).text);
  }
  return *dtype;
}

Decoded read_idx(const Input& input) {
  Layout layout{.dtype = read_magic(input), .order = std::endian::big};
  const auto ndim = static_cast<std::uint64_t>(input.bytes[3]);
  layout.offset = 4 + 4 * ndim;
  if (input.bytes.size() < layout.offset) {
    fail(ErrorCode::malformed_input,
         "'{}' is truncated: an IDX header of {} sizes is {} bytes, the file has {}; fetch it again", input.name, ndim,
         layout.offset, input.bytes.size());
  }
  layout.rows = load_be<std::uint32_t>(input.bytes.data() + 4);
  layout.cols = 1;
  for (std::uint64_t i = 1; i < ndim; ++i) {
    const std::uint64_t size = load_be<std::uint32_t>(input.bytes.data() + 4 + 4 * i);
    if (__builtin_mul_overflow(layout.cols, size, &layout.cols)) {
      fail(ErrorCode::malformed_input, "'{}': the IDX sizes multiply to more than 2^64; fetch or write it again",
           input.name);
    }
  }
  return view_rows(input, layout);
}

constexpr Format kFormats[] = {
    {.name = "idx", .suffixes = {".idx", "-ubyte"}, .read = read_idx, .sniff = sniff_idx},
};

}  // namespace

std::span<const Format> idx_formats() noexcept { return kFormats; }

}  // namespace tessera::io
