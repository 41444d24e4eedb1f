// SPDX-License-Identifier: Apache-2.0
// Here: tiles as the chunks of a chunked array: one tile, one chunk. Not here: where chunks are kept (zarr, chunked HDF5).
#pragma once

#include <cstring>
#include <vector>

#include "dump/target.hpp"
#include "support/fail.hpp"

namespace tessera::dump {

class Chunks {
 public:
  explicit Chunks(const TargetSpec& spec) : layout_(spec.layout), grid_(spec.grid) {
    // [B, n, m] has chunks of one batch; any other shape than [n, m] would cut cells of its grid.
    const std::size_t dims = layout_.shape.size();
    if (layout_.condensed || dims > 3 || dims < 2) {
      support::fail(ErrorCode::unsupported, "'{}': a matrix of {} dimensions cannot be written in chunks; choose .npy or .h5 without --compress", spec.path, dims);
    }
    if (dims == 3) shape_.push_back(1);
    shape_.push_back(std::max<Index>(grid_.tile_rows, 1));
    shape_.push_back(std::max<Index>(grid_.tile_cols, 1));
  }

  const std::vector<Index>& shape() const noexcept { return shape_; }  ///< of a chunk
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(shape_.end()[-2] * shape_.end()[-1]) * layout_.itemsize(); }
  bool whole(const ValueTile& tile) const noexcept { return tile.rows == shape_.end()[-2] && tile.cols == shape_.end()[-1]; }

  /// Number of the tile's chunk in every dimension.
  std::vector<Index> place(const ValueTile& tile) const {
    std::vector<Index> place;
    if (shape_.size() == 3) place.push_back(tile.batch);
    place.push_back(tile.first_row / grid_.tile_rows);
    place.push_back(tile.first_col / grid_.tile_cols);
    return place;
  }
  /// A chunk at the border is as large as the others; what lies outside the array is zero.
  std::vector<std::byte> padded(const ValueTile& tile) const {
    std::vector<std::byte> chunk(bytes());
    const std::size_t row = static_cast<std::size_t>(tile.cols) * layout_.itemsize();
    for (Index r = 0; r < tile.rows; ++r) std::memcpy(chunk.data() + static_cast<std::size_t>(r) * stride(), tile.values + static_cast<std::size_t>(r) * row, row);
    return chunk;
  }
  void cut(const std::vector<std::byte>& chunk, const ValueTile& tile, std::byte* out) const {
    const std::size_t row = static_cast<std::size_t>(tile.cols) * layout_.itemsize();
    for (Index r = 0; r < tile.rows; ++r) std::memcpy(out + static_cast<std::size_t>(r) * row, chunk.data() + static_cast<std::size_t>(r) * stride(), row);
  }

 private:
  std::size_t stride() const noexcept { return static_cast<std::size_t>(shape_.back()) * layout_.itemsize(); }

  Layout layout_;
  TileGrid grid_;
  std::vector<Index> shape_;
};

}  // namespace tessera::dump
