// SPDX-License-Identifier: Apache-2.0
#include "engine/matrix.hpp"

#include <algorithm>

#include "core/backend.hpp"
#include "engine/control.hpp"
#include "engine/plan_values.hpp"
#include "engine/registry.hpp"
#include "engine/run.hpp"
#include "engine/workers.hpp"
#include "support/cpu.hpp"

namespace tessera::engine {
namespace {

using core::Range;

ValuesWishes wishes_of(const DistanceOptions& options, int threads) {
  return {.tile_rows = options.tile_rows,
          .tile_cols = options.tile_cols,
          .shards = options.shards,
          .threads = threads,
          .memory = options.memory > 0 ? options.memory : support::available_memory() / 2};
}

DistanceReport describe(const core::Backend& backend, const core::ValuesPlan& plan, const core::ValuesCosts& costs) {
  DistanceReport report;
  report.grid = plan.grid;
  report.backend = backend.name();
  report.isa = backend.isa();
  report.threads = plan.threads;
  report.form = costs.form;
  report.schedule = plan.mirrored ? "each pair once" : "row bands";
  report.reason = plan.reason;
  report.pair_nanoseconds = costs.pair_nanoseconds;
  return report;
}

/// Row tiles, numbered through all batches, of one shard.
Range units_of(const TileGrid& grid, const DistanceOptions& options) noexcept {
  const Index units = grid.shape.batches * grid.row_tiles();
  return {units * options.shard / options.shards, units * (options.shard + 1) / options.shards};
}

double wanted_bytes(const TileGrid& grid, Range units, const DistanceSink& sink) {
  double bytes = 0;
  const Index cols = grid.col_tiles();
  for (Index unit = units.first; unit < units.last; ++unit) {
    const Index row = unit % grid.row_tiles() * grid.tile_rows;
    const auto rows = static_cast<double>(std::min(grid.tile_rows, grid.shape.rows - row));
    for (Index c = 0; c < cols; ++c) {
      if (!sink.wanted(unit * cols + c)) continue;
      bytes += rows * static_cast<double>(std::min(grid.tile_cols, grid.shape.cols - c * grid.tile_cols));
    }
  }
  return bytes * static_cast<double>(size_of(grid.shape.dtype));
}

}  // namespace

DistanceReport plan_matrix(const core::ValuesProblem& problem, const DistanceOptions& options) {
  const auto executor = make_executor(options.threads);
  const auto backend = make_backend(options.backend, executor->threads());
  const auto prepared = backend->prepare_values(problem);
  const core::ValuesCosts costs = prepared->costs();
  return describe(*backend, plan_values(problem, costs, wishes_of(options, executor->threads())), costs);
}

DistanceReport evaluate_matrix(const core::ValuesProblem& problem, const DistanceOptions& options, DistanceSink& sink) {
  const Stopwatch total;
  const auto executor = make_executor(options.threads);
  const auto backend = make_backend(options.backend, executor->threads());
  const auto prepared = backend->prepare_values(problem);
  const core::ValuesCosts costs = prepared->costs();
  ValuesWishes wishes = wishes_of(options, executor->threads());
  TileGrid bound{.shape = {}, .tile_rows = wishes.tile_rows, .tile_cols = wishes.tile_cols};
  sink.choose_tiles(bound);
  wishes.tile_rows = bound.tile_rows;
  wishes.tile_cols = bound.tile_cols;
  const core::ValuesPlan plan = plan_values(problem, costs, wishes);
  DistanceReport report = describe(*backend, plan, costs);
  const TileGrid& grid = plan.grid;
  const Range units = units_of(grid, options);

  Control control(options.progress, options.stop);
  control.begin_phase("prepare", static_cast<double>(problem.x.rows + problem.y.rows));
  prepared->inspect(*executor);
  prepared->adopt(plan);
  control.end_phase();
  sink.begin(grid);
  control.begin_phase("dump", wanted_bytes(grid, units, sink));
  double seconds_tiles = 0;
  if (grid.tiles() > 0) {
    for (Index b = 0; b < problem.batches; b += plan.segment_batches) {
      for (Index c = 0; c < problem.cols(); c += plan.segment_cols) {
        const Range batches{b, std::min(problem.batches, b + plan.segment_batches)};
        const Range cols{c, std::min(problem.cols(), c + plan.segment_cols)};
        if (units.last <= batches.first * grid.row_tiles() || units.first >= batches.last * grid.row_tiles()) continue;
        const auto segment = prepared->segment(batches, cols, *executor);
        const Stopwatch tiles;
        const ValuesTotals totals = run_values(*prepared, *segment, plan, units, batches, cols, sink, *executor, control);
        seconds_tiles += tiles.seconds();
        ++report.segments;
        report.tiles += totals.tiles;
        report.tiles_skipped += totals.skipped;
        report.bytes += totals.bytes;
        report.directly += totals.counts.directly;
        report.canonically += totals.counts.canonically;
      }
    }
  }
  const Stopwatch finishing;
  sink.finish();
  control.end_phase();
  report.zero_rows = prepared->zero_rows();
  report.seconds_compute = seconds_tiles + finishing.seconds();
  report.seconds_prepare = total.seconds() - report.seconds_compute;
  return report;
}

}  // namespace tessera::engine
