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

Decoded view_npy(const Input& input, const NpyHeader& header) {
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

}  // namespace

Decoded read_npy(const Input& input) { return view_npy(input, parse_npy_header(input.bytes, input.name)); }

Decoded read_npy_distributions(const Input& input) {
  NpyHeader header = parse_npy_header(input.bytes, input.name);
  if (header.shape.size() != 3) return view_npy(input, header);
  const std::vector<std::uint64_t> shape = header.shape;
  std::uint64_t cells = 0;
  if (header.fortran_order || __builtin_mul_overflow(shape[0], shape[1], &cells)) {
    support::fail(ErrorCode::unsupported, "'{}': a grid {} in {}; wanted C order: save numpy.ascontiguousarray(x)", input.name, shape_text(shape),
                  header.fortran_order ? "Fortran order" : "more cells than 64 bits count");
  }
  header.shape = {cells, shape[2]};
  Decoded decoded = view_npy(input, header);
  if (decoded.rows.rows == decoded.file_rows) {
    decoded.rows.grid_rows = static_cast<Index>(shape[0]);
    decoded.rows.grid_cols = static_cast<Index>(shape[1]);
  }
  return decoded;
}

namespace {

constexpr Format kFormats[] = {
    {.name = "npy", .suffixes = {".npy"}, .read = read_npy, .sniff = has_npy_magic, .read_distributions = read_npy_distributions},
};

}  // namespace

std::span<const Format> npy_formats() noexcept { return kFormats; }

}  // namespace tessera::io
