// SPDX-License-Identifier: Apache-2.0
#include "api/validate.hpp"

#include "metrics/lattice.hpp"
#include "metrics/traits.hpp"
#include "support/fail.hpp"

namespace tessera::api {
namespace {

using support::fail;

void validate_rows(const RowSet& rows, const char* what) {
  if (rows.rows < 0 || rows.cols < 0) fail(ErrorCode::invalid_argument, "{}: shape [{}, {}], wanted no negative size", what, rows.rows, rows.cols);
  if (rows.cols == 0 && rows.offsets == nullptr) fail(ErrorCode::invalid_argument, "{}: 0 columns, wanted at least 1", what);
  if (rows.data == nullptr && rows.rows > 0) fail(ErrorCode::invalid_argument, "{}: no data behind {} rows", what, rows.rows);
}

void validate_metric(const MetricSpec& spec, Index cols) {
  const bool wants_cell = metrics::traits_of(spec.metric).nearest_image;
  if (!wants_cell) {
    if (spec.cell) fail(ErrorCode::invalid_argument, "a cell is given, but {} does not use one: wanted the metric periodic", name_of(spec.metric));
    return;
  }
  if (!spec.cell) fail(ErrorCode::invalid_argument, "the metric periodic needs a cell: edge lengths, lengths and angles, or row vectors");
  if (cols > kMostPeriodicCols) fail(ErrorCode::invalid_argument, "periodic distances are for points of 1 to 3 columns, these have {}", cols);
  metrics::make_lattice(*spec.cell, cols);
}

/// Ragged and weighted rows are distributions; other metrics want vectors.
void validate_kind(const RowSet& rows, const MetricSpec& metric, const char* what) {
  const bool distributions = metrics::traits_of(metric.metric).distributions;
  if (!(metric.p >= 1)) fail(ErrorCode::invalid_argument, "p is {}: wanted a number of at least 1, or infinity", metric.p);
  if (!distributions && rows.offsets != nullptr) {
    fail(ErrorCode::invalid_argument, "{}: ragged rows, wanted rows of one length for {}; distributions go with wasserstein", what, name_of(metric.metric));
  }
  if (!distributions && rows.weights.data != nullptr) {
    fail(ErrorCode::invalid_argument, "{}: rows with weights, which {} has no use for; distributions go with wasserstein", what, name_of(metric.metric));
  }
  for (Index i = 0; rows.offsets != nullptr && i <= rows.rows; ++i) {
    if (rows.offsets[i] >= (i == 0 ? 0 : rows.offsets[i - 1])) continue;
    fail(ErrorCode::invalid_argument, "{}: offset {} is {}; wanted offsets that ascend from 0 or more", what, i, rows.offsets[i]);
  }
  if (rows.grid_rows > 0 && (rows.grid_cols <= 0 || rows.rows % rows.grid_cols != 0 || rows.rows / rows.grid_cols != rows.grid_rows)) {
    fail(ErrorCode::invalid_argument, "{}: a grid of {} x {}, but {} rows", what, rows.grid_rows, rows.grid_cols, rows.rows);
  }
}

}  // namespace

void validate_base(const RowSet& base, const KnnOptions& options) {
  validate_rows(base, "base");
  validate_metric(options.metric, base.cols);
  validate_kind(base, options.metric, "base");
  if (options.filter.kind != RowFilter::Kind::all) {
    for (const Index id : options.filter.ids) {
      if (id >= base.first_id && id < base.first_id + base.rows) continue;
      fail(ErrorCode::invalid_argument, "the filter names id {}, the base has ids {} to {}: wanted ids of base rows", id, base.first_id, base.first_id + base.rows - 1);
    }
  }
  if (options.tile < 0) fail(ErrorCode::invalid_argument, "tile is {}: wanted 0 (chosen for you) or a number of base rows", options.tile);
  if (options.threads < 0) fail(ErrorCode::invalid_argument, "threads is {}: wanted 0 (all usable cores) or more", options.threads);
}

void validate_search(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options) {
  validate_rows(queries, "queries");
  if (options.images == Images::all && !metrics::traits_of(options.metric.metric).nearest_image) {
    fail(ErrorCode::invalid_argument, "all images are asked for, but {} has none: wanted the metric periodic", name_of(options.metric.metric));
  }
  if (options.shifts && !metrics::traits_of(options.metric.metric).nearest_image) {
    fail(ErrorCode::invalid_argument, "shifts are asked for, but {} has no images: wanted the metric periodic", name_of(options.metric.metric));
  }
  if (k < 1) fail(ErrorCode::invalid_argument, "k is {}: wanted at least 1", k);
  validate_kind(queries, options.metric, "queries");
  if (queries.cols != base.cols && !metrics::traits_of(options.metric.metric).distributions) {
    fail(ErrorCode::invalid_argument, "queries have {} columns, the base has {}: wanted the same dimension", queries.cols, base.cols);
  }
  if (options.threads < 0) fail(ErrorCode::invalid_argument, "threads is {}: wanted 0 (all usable cores) or more", options.threads);
}

void validate_matrix(const RowSet& x, const RowSet& y, const DistanceOptions& options) {
  validate_rows(x, "base");
  validate_rows(y, "cols");
  validate_metric(options.metric, x.cols);
  validate_kind(x, options.metric, "base");
  validate_kind(y, options.metric, "cols");
  if (x.cols != y.cols && !metrics::traits_of(options.metric.metric).distributions) {
    fail(ErrorCode::invalid_argument, "the base has {} columns, the other set {}: wanted the same dimension", x.cols, y.cols);
  }
  if (options.dtype != DType::f32 && options.dtype != DType::f64 && options.dtype != DType::f16) {
    fail(ErrorCode::invalid_argument, "values as {}: wanted float32, float16 or float64", name_of(options.dtype));
  }
  if (options.batches < 1 || x.rows % options.batches != 0 || y.rows % options.batches != 0) {
    fail(ErrorCode::invalid_argument, "{} batches of {} and {} rows: wanted at least 1, and a divisor of both", options.batches, x.rows, y.rows);
  }
  const Index n = x.rows / options.batches;
  if (!options.lengths.empty() && std::ssize(options.lengths) != options.batches) {
    fail(ErrorCode::invalid_argument, "{} lengths for {} batches: wanted one a batch", options.lengths.size(), options.batches);
  }
  for (const Index length : options.lengths) {
    if (length < 0 || length > n) fail(ErrorCode::invalid_argument, "a length is {}: wanted 0 to {}, the rows of a batch", length, n);
  }
  if (options.shards < 1 || options.shard < 0 || options.shard >= options.shards) {
    fail(ErrorCode::invalid_argument, "shard {} of {}: wanted 0 to one less than their number", options.shard, options.shards);
  }
  if (options.tile_rows < 0 || options.tile_cols < 0) {
    fail(ErrorCode::invalid_argument, "tiles of {} x {}: wanted 0 (chosen for you) or more", options.tile_rows, options.tile_cols);
  }
  if (options.threads < 0) fail(ErrorCode::invalid_argument, "threads is {}: wanted 0 (all usable cores) or more", options.threads);
}

void validate_same_preparation(const KnnOptions& prepared, const KnnOptions& search) {
  if (search.metric.metric != prepared.metric.metric) {
    fail(ErrorCode::invalid_argument, "the base was prepared for {}, the search asks for {}: prepare it again", name_of(prepared.metric.metric),
         name_of(search.metric.metric));
  }
  if (search.metric.cell != prepared.metric.cell) fail(ErrorCode::invalid_argument, "the base was prepared for another cell: prepare it again");
  if (search.metric.p != prepared.metric.p) {
    fail(ErrorCode::invalid_argument, "the base was prepared for p = {}, the search asks for p = {}: prepare it again", prepared.metric.p, search.metric.p);
  }
  if (search.filter != prepared.filter) fail(ErrorCode::invalid_argument, "the base was prepared with another filter of its rows: prepare it again");
  if (search.nan != prepared.nan) fail(ErrorCode::invalid_argument, "the base was prepared under another policy for non-finite rows: prepare it again");
}

}  // namespace tessera::api
