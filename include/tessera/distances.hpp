// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "tessera/export.hpp"
#include "tessera/metric.hpp"
#include "tessera/options.hpp"
#include "tessera/progress.hpp"
#include "tessera/rows.hpp"

namespace tessera {

/// What a full matrix looks like: [batches, rows, cols] values.
struct MatrixShape {
  Index batches = 1;
  Index rows = 0;
  Index cols = 0;
  bool self = false;           ///< rows and columns are one set: symmetric, with a zero diagonal under every distance
  DType dtype = DType::f32;    ///< f32, f16 or f64
};

/// How a matrix is cut: tile t covers rows and columns of one batch; t counts column tiles first, then row tiles, then batches.
struct TileGrid {
  MatrixShape shape;
  Index tile_rows = 0;
  Index tile_cols = 0;

  Index row_tiles() const noexcept { return tile_rows > 0 ? (shape.rows + tile_rows - 1) / tile_rows : 0; }
  Index col_tiles() const noexcept { return tile_cols > 0 ? (shape.cols + tile_cols - 1) / tile_cols : 0; }
  Index tiles() const noexcept { return shape.batches * row_tiles() * col_tiles(); }
};

/// One tile, evaluated.
struct ValueTile {
  Index tile = 0;   ///< its number in the grid
  Index batch = 0;
  Index first_row = 0;
  Index rows = 0;
  Index first_col = 0;
  Index cols = 0;
  const std::byte* values = nullptr;  ///< [rows, cols] of the shape's dtype, contiguous
};

/// Where tiles go: a file (tessera/dump.hpp), memory (DistanceArray), or the caller's own code.
class TESSERA_API DistanceSink {
 public:
  virtual ~DistanceSink();
  /// A sink that is bound to a tile shape (a dump that is resumed) sets both sizes; 0: the planner chooses.
  virtual void choose_tiles(TileGrid& grid) const;
  /// Called once, before any tile.
  virtual void begin(const TileGrid& grid) = 0;
  /// False: the tile is neither computed nor put. From any worker.
  virtual bool wanted(Index tile) const;
  /// Called once for every wanted tile, from any worker, several at once; the values are the engine's and end with the call.
  virtual void put(const ValueTile& tile) = 0;
  /// Called once after the last tile, unless something threw.
  virtual void finish();
};

/// Options of distance_matrix(). Everything under "speed only" leaves every output bit alone.
struct DistanceOptions {
  MetricSpec metric{};
  DType dtype = DType::f32;      ///< f32, f16 or f64; f64 values are canonical
  bool exact = false;            ///< every value is the canonical one, rounded once
  Index batches = 1;             ///< x is [batches * n, d]: one matrix [n, n] a batch
  std::vector<Index> lengths{};  ///< rows that count in each batch; the others' values are NaN. Empty: all rows
  Index shard = 0;               ///< only row band `shard` of `shards`, in whole tiles
  Index shards = 1;

  // Speed only.
  BackendKind backend = BackendKind::automatic;
  Index tile_rows = 0;           ///< 0: chosen
  Index tile_cols = 0;
  int threads = 0;               ///< 0: the cores the process may use
  std::uint64_t memory = 0;      ///< bytes for buffers; 0: half of what is free

  ProgressFunction progress{};   ///< phase "dump", counted in bytes of values
  std::stop_token stop{};        ///< Error{cancelled} soon after a stop is requested
};

/// How a matrix was computed: for logs, JSON and benchmarks.
struct DistanceReport {
  TileGrid grid;
  std::string backend;
  std::string isa;
  int threads = 0;
  std::string form;        ///< "fp32-dot", "fp32-direct", "canonical", ...
  std::string schedule;    ///< "row-bands", "each pair once"
  std::string reason;      ///< why that schedule
  Index segments = 0;      ///< parts the columns were prepared in
  double pair_nanoseconds = 0;  ///< the plan's guess, one thread
  double seconds_prepare = 0;
  double seconds_compute = 0;   ///< tiles, and what the sink made the workers wait
  double bytes = 0;             ///< values handed to the sink
  Index tiles = 0;              ///< tiles handed to the sink
  Index tiles_skipped = 0;      ///< tiles the sink did not want
  std::int64_t directly = 0;    ///< values whose fast form was not good enough, computed by differences
  std::int64_t canonically = 0; ///< values that took the canonical sum in double (all of them under `exact`)
  Index zero_rows = 0;          ///< all-zero rows and columns (cosine)
};

/// Evaluates every distance between the rows of x and the rows of y, tile by tile, into `sink`.
///
/// x, y     [n, d], [m, d], host, any dtype and stride. Row i, column j is the distance of x_i and y_j.
/// values   float32: within 2e-5 of the canonical distance, relatively, and typically 5e-7 (inner_product: 4e-6 |x||y|); see
///          docs/numerics.md. The same bits for every tile shape, thread count, instruction set and shard.
/// cost     O(n*m*d); O(m*d) floats for the packed columns, within options.memory (else they are taken in segments).
/// throws   Error: invalid_argument (shapes, dtype), malformed_input (non-finite rows; a value past float16, naming the
///          entry), out_of_memory, cancelled, and what the sink throws.
TESSERA_API DistanceReport distance_matrix(const RowSet& x, const RowSet& y, const DistanceOptions& options, DistanceSink& sink);

/// The rows of x among themselves: bitwise symmetric; the diagonal is exactly 0 but for inner_product.
TESSERA_API DistanceReport distance_matrix(const RowSet& x, const DistanceOptions& options, DistanceSink& sink);

/// What the call above would do, without doing it: grid, schedule, form. Looks at sizes only.
TESSERA_API DistanceReport plan_distances(const RowSet& x, const DistanceOptions& options, const TileGrid& wish = {});
TESSERA_API DistanceReport plan_distances(const RowSet& x, const RowSet& y, const DistanceOptions& options, const TileGrid& wish = {});

/// A matrix in memory.
class TESSERA_API DistanceArray final : public DistanceSink {
 public:
  void begin(const TileGrid& grid) override;
  void put(const ValueTile& tile) override;

  const MatrixShape& shape() const noexcept { return shape_; }
  const std::byte* data() const noexcept { return values_.data(); }  ///< [batches, rows, cols] of shape().dtype
  const float* floats() const noexcept { return reinterpret_cast<const float*>(values_.data()); }
  const double* doubles() const noexcept { return reinterpret_cast<const double*>(values_.data()); }
  std::size_t bytes() const noexcept { return values_.size(); }

 private:
  MatrixShape shape_;
  std::vector<std::byte> values_;
};

/// The mean of every batch element's rows: x [batches * n, d] to [batches, d] doubles, summed in ascending row order. lengths as in
/// DistanceOptions: rows past a batch's length never enter its mean.
/// throws   Error{invalid_argument}: a length that is not in 1..n.
TESSERA_API std::vector<double> mean_rows(const RowSet& x, Index batches, const std::vector<Index>& lengths = {});

}  // namespace tessera
