// SPDX-License-Identifier: Apache-2.0
// The seam of full matrices: where values are computed. Where they go is tessera::DistanceSink. The engine sees nothing else
// of either.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "core/tile.hpp"
#include "tessera/distances.hpp"
#include "tessera/rows.hpp"

namespace tessera::core {

/// A matrix that is wanted: [batches, rows, cols].
struct ValuesProblem {
  RowSet x;               // [batches * rows, d]
  RowSet y;               // [batches * cols, d]; x again for a self matrix
  bool self = false;
  Index batches = 1;
  std::vector<Index> lengths;  // rows that count in each batch; empty: all
  MetricSpec metric;
  DType dtype = DType::f32;
  bool exact = false;     // canonical values, rounded once (always so for f64)

  Index rows() const noexcept { return x.rows / batches; }
  Index cols() const noexcept { return y.rows / batches; }
  /// Of the `all` rows or columns of a batch, those that count. A length is of x's rows; y may have fewer.
  Index length(Index batch, Index all) const noexcept { return lengths.empty() ? all : std::min(all, lengths[static_cast<std::size_t>(batch)]); }
  bool canonical() const noexcept { return exact || dtype == DType::f64; }
};

/// What the planner needs to know of an evaluator.
struct ValuesCosts {
  std::string form;                    // for reports: "fp32-dot", "canonical", ...
  std::uint64_t bytes_per_col = 0;     // one prepared column
  std::uint64_t bytes_per_worker = 0;  // scratch, besides the tile
  std::uint64_t bytes_per_row = 0;     // scratch of a worker for every row of a tile
  bool columns_by_workers = false;     // a worker can prepare the columns of a batch itself
  double pair_nanoseconds = 0;         // one pair on one thread, roughly: whether a self matrix is worth computing by halves
};

/// Columns of some batches, prepared. Immutable once built; shared by all workers.
class ValuesSegment {
 public:
  virtual ~ValuesSegment() = default;
};

struct ValuesCounts {
  std::int64_t directly = 0;
  std::int64_t canonically = 0;
};

/// One worker's hands.
class ValuesWorker {
 public:
  virtual ~ValuesWorker() = default;
  /// Evaluates a tile of the segment: out [rows, cols] of the problem's dtype, contiguous. A value depends on its two rows and on
  /// nothing of the tile.
  /// throws   Error{malformed_input}: a value past float16, naming the entry.
  virtual void evaluate(const Tile& tile, std::byte* out) = 0;
  virtual ValuesCounts counts() const noexcept = 0;
};

struct ValuesPlan;

/// What a backend made of two sets of rows for one metric: an evaluator.
class PreparedValues {
 public:
  virtual ~PreparedValues() = default;
  /// Looks at the data once: bad rows are errors, centre and scale are chosen from all rows, so that no shard or segment matters.
  virtual void inspect(Executor& executor) = 0;
  /// Takes note of what was planned, before any segment is made.
  virtual void adopt(const ValuesPlan&) {}
  /// Prepares columns [cols) of batches [batches); cols are all columns when there is more than one batch.
  virtual std::unique_ptr<ValuesSegment> segment(Range batches, Range cols, Executor& executor) = 0;
  virtual std::unique_ptr<ValuesWorker> worker(const ValuesSegment& segment, Index tile_rows) const = 0;
  virtual ValuesCosts costs() const = 0;
  virtual Index zero_rows() const noexcept { return 0; }  ///< for the report
};

/// How a matrix is walked.
struct ValuesPlan {
  TileGrid grid;
  bool mirrored = false;       // a self matrix by halves: tile (I, J), I <= J, also serves (J, I)
  Index segment_batches = 1;
  Index segment_cols = 0;      // a multiple of tile_cols, or all columns
  bool columns_by_workers = false;  // a tile is a batch: whoever takes it prepares its columns, and they never leave its cache
  std::string reason;          // why mirrored or not
  int threads = 1;             // workers that get a tile buffer
};

}  // namespace tessera::core
