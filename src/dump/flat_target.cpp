// SPDX-License-Identifier: Apache-2.0
// npy and raw files, and what they share with contiguous HDF5.
#include "dump/flat_target.hpp"

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/bytes.hpp"
#include "io/npy_array.hpp"
#include "io/temp_file.hpp"
#include "support/fail.hpp"

namespace tessera::dump {
namespace {

// Data start on a page of their own: a mapped array is aligned, and a crash while data are written cannot hurt the header.
constexpr std::uint64_t kNpyStart = 4096;

void write_new(const std::string& path, const std::string& text) {
  const File file(path, true, true);
  file.write_at(0, io::as_bytes(text));
  file.sync();
}

class NpyTarget final : public FlatTarget {
 public:
  using FlatTarget::FlatTarget;

 private:
  std::uint64_t begin() override {
    write_new(spec_.path, io::npy_header(fmt::format("<f{}", size_of(spec_.layout.matrix.dtype)), spec_.layout.shape, kNpyStart));
    return kNpyStart;
  }
  std::uint64_t locate() override { return kNpyStart; }
};

class RawTarget final : public FlatTarget {
 public:
  using FlatTarget::FlatTarget;

 private:
  std::uint64_t begin() override {
    write_new(spec_.path, "");
    write_new(spec_.path + std::string(target_format(spec_.path, "raw").beside), fmt::format("{{\"dtype\": \"{}\", \"byteorder\": \"little\", \"order\": \"C\", \"shape\": [{}], \"condensed\": {}}}\n",
                                                name_of(spec_.layout.matrix.dtype), fmt::join(spec_.layout.shape, ", "), spec_.layout.condensed));
    return 0;
  }
  std::uint64_t locate() override { return 0; }
};

}  // namespace

void FlatTarget::create() {
  start_ = begin();
  file_ = File(spec_.path, false);
  file_.reserve(start_ + spec_.layout.bytes());
  file_.sync();
  sync_folder(io::folder_of(spec_.path));
}

void FlatTarget::open(bool for_writing) {
  if (::access(spec_.path.c_str(), F_OK) != 0) {
    support::fail(ErrorCode::malformed_input, "'{}' is gone, its journal is still there: start again with --force", spec_.path);
  }
  file_ = for_writing ? File(spec_.path, false) : File::for_reading(spec_.path);
  start_ = locate();
  const std::uint64_t want = start_ + spec_.layout.bytes();
  const std::uint64_t have = file_.size();
  if (have >= want) return;
  if (!for_writing) {
    support::fail(ErrorCode::malformed_input, "'{}' has {} bytes, wanted {}: it was truncated; --resume computes what is missing", spec_.path, have, want);
  }
  file_.reserve(want);
}

void FlatTarget::write(const ValueTile& tile) {
  const std::uint64_t item = spec_.layout.itemsize();
  spec_.layout.for_each_run(tile, [&](Index offset, Index first, Index count) {
    file_.write_at(start_ + static_cast<std::uint64_t>(offset) * item,
                   {tile.values + static_cast<std::uint64_t>(first) * item, static_cast<std::size_t>(count) * item});
  });
}

bool FlatTarget::read(const ValueTile& tile, std::byte* out) {
  const std::uint64_t item = spec_.layout.itemsize();
  bool whole = true;
  spec_.layout.for_each_run(tile, [&](Index offset, Index first, Index count) {
    whole = whole && file_.read_at(start_ + static_cast<std::uint64_t>(offset) * item,
                                   {out + static_cast<std::uint64_t>(first) * item, static_cast<std::size_t>(count) * item});
  });
  return whole;
}

std::unique_ptr<Target> make_npy_target(const TargetSpec& spec) { return std::make_unique<NpyTarget>(spec); }

std::unique_ptr<Target> make_raw_target(const TargetSpec& spec) {
  // A raw file says by its name alone what its bytes are.
  const std::string_view bits = spec.path.ends_with("16") ? "16" : spec.path.ends_with("64") ? "64" : "32";
  const std::size_t item = spec.layout.itemsize();
  if (std::to_string(8 * item) != bits) {
    support::fail(ErrorCode::invalid_argument, "'{}' would hold float{}, its name says float{}: choose .f{} or the other type", spec.path, 8 * item, bits, 8 * item);
  }
  return std::make_unique<RawTarget>(spec);
}

}  // namespace tessera::dump
