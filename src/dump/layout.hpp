// SPDX-License-Identifier: Apache-2.0
// Here: where a value lies in the file. One function, offset(), serves every uncompressed format, square, condensed, batched or
// sharded. Not here: files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/distances.hpp"

namespace tessera::dump {

struct Layout {
  MatrixShape matrix;
  bool condensed = false;     // only j > i
  std::vector<Index> shape;   // of the array in the file

  std::uint64_t itemsize() const noexcept { return size_of(matrix.dtype); }

  /// Values before (batch, i, j), in the array. Condensed: j > i.
  Index offset(Index batch, Index i, Index j) const noexcept {
    if (condensed) return matrix.rows * i - i * (i + 1) / 2 + (j - i - 1);
    return (batch * matrix.rows + i) * matrix.cols + j;
  }
  Index values() const noexcept {
    return condensed ? (matrix.rows < 2 ? 0 : matrix.rows * (matrix.rows - 1) / 2) : matrix.batches * matrix.rows * matrix.cols;
  }
  std::uint64_t bytes() const noexcept { return static_cast<std::uint64_t>(values()) * itemsize(); }
  /// The first column of row i that the array holds.
  Index first_col(Index i) const noexcept { return condensed ? i + 1 : 0; }

  /// Calls body(offset, first, count) for every run of a tile's values that the array holds in one piece: `count` values at value
  /// `offset` of the array are those from `first` on of the tile [rows, cols].
  template <class Body>
  void for_each_run(const ValueTile& tile, const Body& body) const {
    if (!condensed && tile.cols == matrix.cols) {
      body(offset(tile.batch, tile.first_row, 0), Index{0}, tile.rows * tile.cols);
      return;
    }
    for (Index r = 0; r < tile.rows; ++r) {
      const Index i = tile.first_row + r;
      const Index skip = std::max<Index>(0, first_col(i) - tile.first_col);
      if (skip >= tile.cols) continue;
      body(offset(tile.batch, i, tile.first_col + skip), r * tile.cols + skip, tile.cols - skip);
    }
  }
};

/// Tile `number` of a grid, without values.
inline ValueTile tile_of(const TileGrid& grid, Index number) noexcept {
  const Index unit = number / grid.col_tiles();
  const Index row = unit % grid.row_tiles() * grid.tile_rows;
  const Index col = number % grid.col_tiles() * grid.tile_cols;
  return {.tile = number,
          .batch = unit / grid.row_tiles(),
          .first_row = row,
          .rows = std::min(grid.tile_rows, grid.shape.rows - row),
          .first_col = col,
          .cols = std::min(grid.tile_cols, grid.shape.cols - col),
          .values = nullptr};
}

/// Whether the array holds any value of a tile.
inline bool holds_any(const Layout& layout, const ValueTile& tile) noexcept {
  return !layout.condensed || layout.first_col(tile.first_row) < tile.first_col + tile.cols;
}

}  // namespace tessera::dump
