// SPDX-License-Identifier: Apache-2.0
#include "io/npy.hpp"

#include "io/container.hpp"
#include "io/format.hpp"
#include "io/layout.hpp"
#include "io/npy_header.hpp"
#include "support/fail.hpp"

namespace tessera::io {

Decoded read_npy(const Input& input) {
  const NpyHeader header = parse_npy_header(input.bytes, input.name);
  const NpyType type = npy_type(header.descr, input.name);
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
