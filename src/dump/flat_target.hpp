// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "dump/target.hpp"

namespace tessera::dump {

/// One array in one piece, somewhere in a file: npy, raw, contiguous HDF5. Tiles are written where they belong, by pwrite, from any
/// thread, with no lock. A format only says how the file begins.
class FlatTarget : public Target {
 public:
  explicit FlatTarget(TargetSpec spec) : spec_(std::move(spec)) {}

  void create() final;
  void open(bool for_writing) final;
  void write(const ValueTile& tile) final;
  void sync(const std::vector<TileMark>&) final { file_.sync(); }
  bool read(const ValueTile& tile, std::byte* out) final;

 protected:
  /// Writes what comes before the array (and beside it); returns its offset. The file may still be shorter than the array.
  virtual std::uint64_t begin() = 0;
  /// The array's offset in a file that begin() made.
  virtual std::uint64_t locate() = 0;

  TargetSpec spec_;

 private:
  File file_;
  std::uint64_t start_ = 0;
};

}  // namespace tessera::dump
