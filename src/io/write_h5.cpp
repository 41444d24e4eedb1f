// SPDX-License-Identifier: Apache-2.0
// neighbors and distances [nq, k], under ann-benchmarks' names. No times are stored: equal lists give equal bytes.
#include "io/writer.hpp"
#include "support/config.hpp"
#include "support/fail.hpp"

#if TESSERA_HAVE_HDF5

#include "io/h5_library.hpp"

namespace tessera::io {

namespace {

/// Carries libhdf5's reason out; `what` had to be true.
void check(bool what, const TempFile& out) {
  if (!what) support::fail(ErrorCode::io, "cannot write '{}': {}; nothing is left behind", out.target(), h5_reason());
}

struct Table {
  const char* name;
  hid_t stored;  // the type in the file
  hid_t given;   // the type in memory
  const void* data;
};

void write_table(const H5Id& file, const Table& table, const Neighbours& neighbours, const TempFile& out) {
  const hsize_t shape[2] = {static_cast<hsize_t>(neighbours.rows), static_cast<hsize_t>(neighbours.k)};
  const H5Id space(H5Screate_simple(2, shape, nullptr));
  const H5Id creation(H5Pcreate(H5P_DATASET_CREATE));
  check(creation && H5Pset_obj_track_times(creation.get(), false) >= 0, out);
  H5Id dataset(
      H5Dcreate2(file.get(), table.name, table.stored, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  check(static_cast<bool>(dataset), out);
  if (neighbours.rows > 0) {
    check(H5Dwrite(dataset.get(), table.given, H5S_ALL, H5S_ALL, H5P_DEFAULT, table.data) >= 0, out);
  }
  check(dataset.close(), out);
}

H5Id create(const TempFile& out) {
  const H5Id access = h5_access_without_locks();
  H5Id file(H5Fcreate(out.path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  check(static_cast<bool>(file), out);
  return file;
}

void write_h5(TempFile& out, const Neighbours& neighbours, const WriteOptions& options) {
  const H5Session session;
  H5Id file = create(out);
  write_table(file,
              {.name = "neighbors",
               .stored = options.ids_int32 ? H5T_STD_I32LE : H5T_STD_I64LE,
               .given = H5T_NATIVE_INT64,
               .data = neighbours.ids.data()},
              neighbours, out);
  const bool wide = !neighbours.distances64.empty();
  const void* distances = wide ? static_cast<const void*>(neighbours.distances64.data()) : neighbours.distances.data();
  write_table(file,
              {.name = "distances",
               .stored = wide ? H5T_IEEE_F64LE : H5T_IEEE_F32LE,
               .given = wide ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT,
               .data = distances},
              neighbours, out);
  check(file.close(), out);
}

constexpr const char* kMissing = nullptr;

}  // namespace

}  // namespace tessera::io

#else

namespace tessera::io {

namespace {

constexpr const char* kMissing = "libhdf5";

// Never called: the choice of a writer stops at what is missing.
void write_h5(TempFile&, const Neighbours&, const WriteOptions&) {}

}  // namespace

}  // namespace tessera::io

#endif

namespace tessera::io {

namespace {

constexpr Writer kWriter{
    .name = "h5", .suffix = ".h5", .other_suffix = ".hdf5", .missing = kMissing, .by_path = true, .write = write_h5};

}  // namespace

const Writer& h5_writer() noexcept { return kWriter; }

}  // namespace tessera::io
