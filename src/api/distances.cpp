// SPDX-License-Identifier: Apache-2.0
#include "tessera/distances.hpp"

#include <algorithm>
#include <cstring>

#include "api/guarded.hpp"
#include "api/validate.hpp"
#include "engine/matrix.hpp"
#include "engine/registry.hpp"
#include "metrics/traits.hpp"
#include "prepare/pool.hpp"
#include "support/fail.hpp"

namespace tessera {
namespace {

core::ValuesProblem problem_of(const RowSet& x, const RowSet& y, bool self, const DistanceOptions& options) {
  return {.x = x,
          .y = y,
          .self = self,
          .batches = options.batches,
          .lengths = options.lengths,
          .metric = options.metric,
          .dtype = options.dtype,
          .exact = options.exact};
}

DistanceOptions with_tiles(DistanceOptions options, const TileGrid& wish) {
  if (wish.tile_rows > 0) options.tile_rows = wish.tile_rows;
  if (wish.tile_cols > 0) options.tile_cols = wish.tile_cols;
  return options;
}

}  // namespace

DistanceSink::~DistanceSink() = default;
void DistanceSink::choose_tiles(TileGrid&) const {}
bool DistanceSink::wanted(Index) const { return true; }
void DistanceSink::finish() {}

DistanceReport distance_matrix(const RowSet& x, const RowSet& y, const DistanceOptions& options, DistanceSink& sink) {
  api::validate_matrix(x, y, options);
  return api::guarded([&] { return engine::evaluate_matrix(problem_of(x, y, false, options), options, sink); });
}

DistanceReport distance_matrix(const RowSet& x, const DistanceOptions& options, DistanceSink& sink) {
  api::validate_matrix(x, x, options);
  return api::guarded([&] { return engine::evaluate_matrix(problem_of(x, x, true, options), options, sink); });
}

DistanceReport plan_distances(const RowSet& x, const RowSet& y, const DistanceOptions& options, const TileGrid& wish) {
  api::validate_matrix(x, y, options);
  return engine::plan_matrix(problem_of(x, y, false, options), with_tiles(options, wish));
}

DistanceReport plan_distances(const RowSet& x, const DistanceOptions& options, const TileGrid& wish) {
  api::validate_matrix(x, x, options);
  return engine::plan_matrix(problem_of(x, x, true, options), with_tiles(options, wish));
}

void DistanceArray::begin(const TileGrid& grid) {
  shape_ = grid.shape;
  values_.resize(static_cast<std::size_t>(shape_.batches * shape_.rows * shape_.cols) * size_of(shape_.dtype));
}

void DistanceArray::put(const ValueTile& tile) {
  const std::size_t item = size_of(shape_.dtype);
  const std::size_t row_bytes = static_cast<std::size_t>(tile.cols) * item;
  for (Index i = 0; i < tile.rows; ++i) {
    const Index row = tile.batch * shape_.rows + tile.first_row + i;
    std::memcpy(values_.data() + static_cast<std::size_t>(row * shape_.cols + tile.first_col) * item,
                tile.values + static_cast<std::size_t>(i) * row_bytes, row_bytes);
  }
}

std::vector<double> mean_rows(const RowSet& x, Index batches, const std::vector<Index>& lengths) {
  DistanceOptions options;
  options.batches = batches;
  options.lengths = lengths;
  api::validate_matrix(x, x, options);
  const Index n = batches > 0 ? x.rows / batches : 0;
  for (const Index length : lengths) {
    if (length == 0) support::fail(ErrorCode::invalid_argument, "a length is 0: wanted 1 to {}, an empty sample has no mean", n);
  }
  return api::guarded([&] { return prepare::mean_rows(prepare::RowReader(engine::select_kernels(), x, false), batches, lengths); });
}

}  // namespace tessera
