// SPDX-License-Identifier: Apache-2.0
// HDF5, contiguous: libhdf5 lays the data set out and tells where it lies; values go there without it.
#include "dump/flat_target.hpp"
#include "support/config.hpp"
#include "support/fail.hpp"

#if TESSERA_HAVE_HDF5

#include "dump/h5_types.hpp"

namespace tessera::dump {
namespace {

// Data start on a page of their own, as in npy.
constexpr hsize_t kAlignment = 4096;

class H5Target final : public FlatTarget {
 public:
  using FlatTarget::FlatTarget;

 private:
  void check(bool what) const {
    if (!what) support::fail(ErrorCode::io, "cannot write '{}': {}", spec_.path, io::h5_reason());
  }

  std::uint64_t begin() override {
    const io::H5Session session;
    const io::H5Id access = io::h5_access_without_locks();
    check(H5Pset_alignment(access.get(), kAlignment, kAlignment) >= 0);
    io::H5Id file(H5Fcreate(spec_.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
    check(static_cast<bool>(file));
    const std::vector<hsize_t> shape(spec_.layout.shape.begin(), spec_.layout.shape.end());
    const io::H5Id space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
    const io::H5Id creation(H5Pcreate(H5P_DATASET_CREATE));
    // No times, else equal dumps would differ; allocated now, never filled: the values come from outside.
    check(creation && H5Pset_obj_track_times(creation.get(), false) >= 0 && H5Pset_layout(creation.get(), H5D_CONTIGUOUS) >= 0 &&
          H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY) >= 0 && H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER) >= 0);
    io::H5Id half;
    io::H5Id dataset(H5Dcreate2(file.get(), kH5Name, h5_stored_type(spec_.layout.matrix.dtype, half), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
    check(static_cast<bool>(dataset));
    const haddr_t offset = H5Dget_offset(dataset.get());
    check(spec_.layout.values() == 0 || offset != HADDR_UNDEF);
    check(dataset.close() && file.close());
    return spec_.layout.values() == 0 ? 0 : offset;
  }

  std::uint64_t locate() override {
    if (spec_.layout.values() == 0) return 0;
    const io::H5Session session;
    const io::H5Id access = io::h5_access_without_locks();
    const io::H5Id file(H5Fopen(spec_.path.c_str(), H5F_ACC_RDONLY, access.get()));
    const io::H5Id dataset(file ? H5Dopen2(file.get(), kH5Name, H5P_DEFAULT) : H5I_INVALID_HID);
    const haddr_t offset = dataset ? H5Dget_offset(dataset.get()) : HADDR_UNDEF;
    if (offset == HADDR_UNDEF) {
      support::fail(ErrorCode::malformed_input, "'{}' cannot be opened as HDF5 ({}): start again with --force", spec_.path, io::h5_reason());
    }
    return offset;
  }
};

}  // namespace

std::unique_ptr<Target> make_h5_target(const TargetSpec& spec) {
  if (!spec.compress.empty()) return make_h5_chunked_target(spec);
  return std::make_unique<H5Target>(spec);
}

}  // namespace tessera::dump

#else

namespace tessera::dump {

// Never called: the choice of a format stops at what is missing.
std::unique_ptr<Target> make_h5_target(const TargetSpec&) { return nullptr; }

}  // namespace tessera::dump

#endif
