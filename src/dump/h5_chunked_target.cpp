// SPDX-License-Identifier: Apache-2.0
// HDF5, chunked and compressed: workers compress, libhdf5 stores. It keeps its index in memory until the file is closed, so an
// interrupted dump is lost: the file appears under its name only when it is whole.
#include "dump/chunks.hpp"
#include "support/config.hpp"

#if TESSERA_HAVE_HDF5 && TESSERA_HAVE_ZLIB

#include <optional>

#include "dump/codec.hpp"
#include "dump/h5_types.hpp"
#include "io/temp_file.hpp"

namespace tessera::dump {
namespace {

class H5ChunkedTarget final : public Target {
 public:
  explicit H5ChunkedTarget(TargetSpec spec) : spec_(std::move(spec)), chunks_(spec_) {}
  ~H5ChunkedTarget() override {
    const io::H5Session session;
    dataset_.close();
    file_.close();
  }

  void create() override {
    const io::H5Session session;
    part_.emplace(spec_.path, io::TempName::hidden);
    const io::H5Id access = io::h5_access_without_locks();
    file_ = io::H5Id(H5Fcreate(part_->path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
    check(static_cast<bool>(file_));
    const std::vector<hsize_t> shape(spec_.layout.shape.begin(), spec_.layout.shape.end());
    const std::vector<hsize_t> chunk(chunks_.shape().begin(), chunks_.shape().end());
    const io::H5Id space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
    const io::H5Id creation(H5Pcreate(H5P_DATASET_CREATE));
    check(creation && H5Pset_obj_track_times(creation.get(), false) >= 0 && H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0 &&
          H5Pset_deflate(creation.get(), 1) >= 0 && H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER) >= 0);
    io::H5Id half;
    dataset_ = io::H5Id(H5Dcreate2(file_.get(), kH5Name, h5_stored_type(spec_.layout.matrix.dtype, half), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
    check(static_cast<bool>(dataset_));
  }

  void open(bool for_writing) override {
    if (for_writing) {
      support::fail(ErrorCode::unsupported, "'{}': a compressed HDF5 file cannot be resumed or sharded; start again with --force, or use .zarr", spec_.path);
    }
    const io::H5Session session;
    const io::H5Id access = io::h5_access_without_locks();
    file_ = io::H5Id(H5Fopen(spec_.path.c_str(), H5F_ACC_RDONLY, access.get()));
    dataset_ = io::H5Id(file_ ? H5Dopen2(file_.get(), kH5Name, H5P_DEFAULT) : H5I_INVALID_HID);
    if (!dataset_) support::fail(ErrorCode::malformed_input, "'{}' cannot be opened as HDF5: {}", spec_.path, io::h5_reason());
  }

  void write(const ValueTile& tile) override {
    const std::vector<std::byte> packed = compress("zlib", chunks_.padded(tile));
    const std::vector<hsize_t> at = start(tile);
    const io::H5Session session;
    check(H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, 0, at.data(), packed.size(), packed.data()) >= 0);
  }

  void sync(const std::vector<TileMark>&) override {}
  bool resumable() const noexcept override { return false; }

  bool read(const ValueTile& tile, std::byte* out) override {
    const std::vector<hsize_t> at = start(tile);
    std::uint32_t filters = 0;
    std::vector<std::byte> values(chunks_.bytes());
    std::vector<std::byte> packed;
    {
      const io::H5Session session;
      hsize_t size = 0;
      if (H5Dget_chunk_storage_size(dataset_.get(), at.data(), &size) < 0 || size == 0) return false;
      packed.resize(size);
      if (H5Dread_chunk(dataset_.get(), H5P_DEFAULT, at.data(), &filters, packed.data()) < 0 || filters != 0) return false;
    }
    if (!decompress("zlib", packed, values)) return false;
    chunks_.cut(values, tile, out);
    return true;
  }

  void finish(bool /*alone*/) override {
    {
      const io::H5Session session;
      check(dataset_.close());
      check(file_.close());
    }
    part_->commit(true);
  }

 private:
  void check(bool what) const {
    if (!what) support::fail(ErrorCode::io, "cannot write '{}': {}", spec_.path, io::h5_reason());
  }
  std::vector<hsize_t> start(const ValueTile& tile) const {
    std::vector<hsize_t> at;
    const std::vector<Index> place = chunks_.place(tile);
    for (std::size_t i = 0; i < place.size(); ++i) at.push_back(static_cast<hsize_t>(place[i] * chunks_.shape()[i]));
    return at;
  }

  TargetSpec spec_;
  Chunks chunks_;
  std::optional<io::TempFile> part_;  // outlives the handles below
  io::H5Id file_;
  io::H5Id dataset_;
};

}  // namespace

std::unique_ptr<Target> make_h5_chunked_target(const TargetSpec& spec) { return std::make_unique<H5ChunkedTarget>(spec); }

}  // namespace tessera::dump

#else

namespace tessera::dump {

// Never called: the check of the compressor stops at what is missing.
std::unique_ptr<Target> make_h5_chunked_target(const TargetSpec&) { return nullptr; }

}  // namespace tessera::dump

#endif
