// SPDX-License-Identifier: Apache-2.0
// ids and distances [nq, k], as numpy.load() gives them back.
#include "io/npy_array.hpp"
#include "io/put_values.hpp"
#include "io/writer.hpp"
#include "io/zip_writer.hpp"

namespace tessera::io {

namespace {

void write_npz(TempFile& out, const Neighbours& neighbours, const WriteOptions& options) {
  const std::uint64_t count = neighbours.ids.size();
  ZipWriter zip(out);

  const std::string ids_header = npy_header(options.ids_int32 ? "<i4" : "<i8", neighbours.rows, neighbours.k);
  zip.begin("ids.npy", ids_header.size() + count * (options.ids_int32 ? 4 : 8));
  zip.append(as_bytes(ids_header));
  const std::span<const std::int64_t> ids(neighbours.ids);
  options.ids_int32 ? put_values<std::int32_t>(zip, ids) : put_values<std::int64_t>(zip, ids);
  zip.end();

  const bool wide = !neighbours.distances64.empty();
  const std::string distances_header = npy_header(wide ? "<f8" : "<f4", neighbours.rows, neighbours.k);
  zip.begin("distances.npy", distances_header.size() + count * (wide ? 8 : 4));
  zip.append(as_bytes(distances_header));
  wide ? put_distances<double>(zip, neighbours) : put_distances<float>(zip, neighbours);
  zip.end();

  zip.finish();
}

constexpr Writer kWriter{.name = "npz", .suffix = ".npz", .write = write_npz};

}  // namespace

const Writer& npz_writer() noexcept { return kWriter; }

}  // namespace tessera::io
