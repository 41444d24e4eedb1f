// SPDX-License-Identifier: Apache-2.0
#include "io/npy.hpp"

#include "io/container.hpp"
#include "io/format.hpp"
#include "io/layout.hpp"
#include "io/npy_header.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

/// [B, n, d] as B * n rows.
Decoded read_batches(const Input& input, const NpyHeader& header, const NpyType& type) {
  std::uint64_t rows = 0;
  if (__builtin_mul_overflow(header.shape[0], header.shape[1], &rows)) {
    support::fail(ErrorCode::malformed_input, "'{}': shape {} has more rows than 64 bits count", input.name, shape_text(header.shape));
  }
  Decoded decoded = view_rows(input, {.dtype = type.dtype, .order = type.order, .offset = header.data_offset, .rows = rows, .cols = header.shape[2]});
  decoded.batches = static_cast<Index>(header.shape[0]);
  return decoded;
}

}  // namespace

Decoded read_npy(const Input& input) {
  const NpyHeader header = parse_npy_header(input.bytes, input.name);
  const NpyType type = npy_type(header.descr, input.name);
  if (input.batched && header.shape.size() == 3 && !header.fortran_order) return read_batches(input, header, type);
  if (header.shape.empty() || header.shape.size() > 2) {
    support::fail(ErrorCode::unsupported,
                  "'{}': shape {}; wanted rows [n, d] or [n]; reshape it, e.g. x.reshape(len(x), -1)", input.name,
                  shape_text(header.shape));
  }
  const bool flat = header.shape.size() == 1;
  return view_rows(input, {.dtype = type.dtype,
                           .order = type.order,
                           .offset = header.data_offset,
                           .rows = header.shape[0],
                           .cols = flat ? 1 : header.shape[1],
                           .by_columns = header.fortran_order && !flat});
}

namespace {

constexpr Format kFormats[] = {
    {.name = "npy", .suffixes = {".npy"}, .read = read_npy, .sniff = has_npy_magic},
};

}  // namespace

std::span<const Format> npy_formats() noexcept { return kFormats; }

}  // namespace tessera::io
