// SPDX-License-Identifier: Apache-2.0
#include "io/npy_array.hpp"
#include "io/put_values.hpp"
#include "io/writer.hpp"

namespace tessera::io {

namespace {

void write_npy(TempFile& out, const Neighbours& neighbours, const WriteOptions& options) {
  out.append(as_bytes(npy_header(options.ids_int32 ? "<i4" : "<i8", neighbours.rows, neighbours.k)));
  const std::span<const std::int64_t> ids(neighbours.ids);
  options.ids_int32 ? put_values<std::int32_t>(out, ids) : put_values<std::int64_t>(out, ids);
}

constexpr Writer kWriter{.name = "npy", .suffix = ".npy", .distances = false, .write = write_npy};

}  // namespace

void write_npy_shifts(TempFile& out, const Neighbours& neighbours) {
  out.append(as_bytes(npy_header("<i4", std::vector<Index>{neighbours.rows, neighbours.k, 3})));
  put_values<std::int32_t>(out, std::span<const std::int32_t>(neighbours.shifts));
}

const Writer& npy_writer() noexcept { return kWriter; }

}  // namespace tessera::io
