// SPDX-License-Identifier: Apache-2.0
// Here: the list of formats dumps are written in. To add one: write its file, declare its maker here, name it in target.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dump/layout.hpp"
#include "dump/journal.hpp"

namespace tessera::dump {

/// What is written, whatever the format.
struct TargetSpec {
  std::string path;
  std::string compress;
  Layout layout;
  TileGrid grid;
};

/// A file, or folder, that takes tiles.
class Target {
 public:
  virtual ~Target() = default;
  /// Creates it anew, in its full size where the format has one; replaces what is there.
  virtual void create() = 0;
  /// Opens what create() made, maybe by another process.
  /// throws   Error{malformed_input}: it is not there, or not what it must be.
  virtual void open(bool for_writing) = 0;
  /// Writes a tile's values. From any worker, tiles apart.
  virtual void write(const ValueTile& tile) = 0;
  /// Makes tiles that were written durable. One thread.
  virtual void sync(const std::vector<TileMark>& tiles) = 0;
  /// Reads a tile's values back: out [rows, cols]; what the array does not hold is left alone. False: not all there.
  virtual bool read(const ValueTile& tile, std::byte* out) = 0;
  /// After the last tile.
  /// alone: no other process writes tiles.
  virtual void finish(bool /*alone*/) {}
  /// Whether open() for writing can go on with it, as a resume and the shards after the first do.
  virtual bool resumable() const noexcept { return true; }
};

/// One format.
struct TargetFormat {
  std::string_view name;
  std::vector<std::string_view> suffixes;
  std::vector<std::string_view> compressors;  // that it may be written with
  bool condensed = false;                     // can hold a condensed matrix
  bool folder = false;                        // of chunks, not one file
  std::string_view beside{};                  // suffix of a file that it writes too
  const char* missing = nullptr;              // the library this build lacks for it
  std::unique_ptr<Target> (*make)(const TargetSpec& spec) = nullptr;
};

const std::vector<TargetFormat>& target_formats();
/// By name, or by the path's suffix.
/// throws   Error{invalid_argument, unsupported}.
const TargetFormat& target_format(const std::string& path, const std::string& name);
/// Whether the format can hold it so.
void check_target(const TargetFormat& format, const std::string& path, const std::string& compress, bool condensed);

std::unique_ptr<Target> make_npy_target(const TargetSpec& spec);         // flat_target.cpp
std::unique_ptr<Target> make_raw_target(const TargetSpec& spec);         // flat_target.cpp
std::unique_ptr<Target> make_h5_target(const TargetSpec& spec);          // h5_target.cpp
std::unique_ptr<Target> make_h5_chunked_target(const TargetSpec& spec);  // h5_chunked_target.cpp
std::unique_ptr<Target> make_zarr_target(const TargetSpec& spec);        // zarr_target.cpp

}  // namespace tessera::dump
