// SPDX-License-Identifier: Apache-2.0
#include "engine/plan_values.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "support/fail.hpp"

namespace tessera::engine {
namespace {

constexpr Index kTileBytes = Index{16} << 20;     // chosen: large writes, and a worker's tile is still a small part of memory
constexpr Index kWantedRows = 128;                // packed columns come from memory once for so many rows
constexpr Index kMostRows = 1024;
constexpr Index kFewestRows = 16;
constexpr Index kColUnit = 1024;                  // row segments of whole pages
constexpr double kWriteNanosecondsPerByte = 1.0;  // chosen: a fast disk, 1 GB/s; below it writing binds and halves save nothing

Index divide_up(Index a, Index b) noexcept { return (a + b - 1) / b; }

/// Whether a self matrix should be computed by halves, and why (not).
bool by_halves(const core::ValuesProblem& problem, const core::ValuesCosts& costs, const ValuesWishes& wishes, Index itemsize, std::string& reason) {
  if (!problem.self) {
    reason = "two sets";
    return false;
  }
  if (wishes.shards > 1) {
    reason = "a shard is a band of rows";
    return false;
  }
  if (wishes.tile_rows != wishes.tile_cols) {
    reason = "tiles that are not square";
    return false;
  }
  const double compute = costs.pair_nanoseconds / wishes.threads;
  const double write = static_cast<double>(itemsize) * kWriteNanosecondsPerByte;
  if (compute <= write) {
    reason = fmt::format("writing binds: {:.2g} ns a value against {:.2g} ns computed", write, compute);
    return false;
  }
  reason = fmt::format("computing binds: {:.2g} ns a value against {:.2g} ns written", compute, write);
  return true;
}

/// What a worker's share of the budget leaves for its tile.
struct TileRoom {
  Index bytes;      // of the tile, and of its mirror image where there is one
  Index most_rows;  // whose scratch fits beside it
};

void square_tiles(core::ValuesPlan& plan, const ValuesWishes& wishes, const TileRoom& room, Index itemsize) {
  const Index n = plan.grid.shape.rows;
  if (plan.grid.tile_rows > 0) return;
  // A tile and its transpose; T (T + 1) / 2 tasks a batch, eight a worker so that the last ones do not wait.
  const auto by_bytes = static_cast<Index>(std::sqrt(static_cast<double>(room.bytes / 2 / itemsize)));
  const auto wanted = static_cast<Index>(std::ceil(std::sqrt(16.0 * wishes.threads / static_cast<double>(plan.grid.shape.batches))));
  const Index side = std::min({by_bytes, kMostRows, divide_up(n, std::max<Index>(1, wanted))});
  plan.grid.tile_rows = plan.grid.tile_cols = std::clamp<Index>(std::max(std::min(kFewestRows, n), side), 1, std::max<Index>(1, std::min(by_bytes, room.most_rows)));
}

void band_tiles(core::ValuesPlan& plan, const ValuesWishes& wishes, const TileRoom& room, Index itemsize) {
  TileGrid& grid = plan.grid;
  const Index n = grid.shape.rows;
  const Index m = grid.shape.cols;
  if (grid.tile_cols == 0) {
    const Index affordable = std::max(room.bytes / itemsize / kWantedRows, kColUnit);
    grid.tile_cols = m <= affordable ? m : affordable / kColUnit * kColUnit;
  }
  if (grid.tile_rows > 0) return;
  const Index by_bytes = room.bytes / itemsize / std::max<Index>(grid.tile_cols, 1);
  Index rows = std::min(by_bytes, kMostRows);
  const Index units = grid.shape.batches * grid.col_tiles() > 0 ? grid.shape.batches * divide_up(m, std::max<Index>(grid.tile_cols, 1)) : 1;
  const Index wanted_bands = divide_up(Index{8} * wishes.threads * wishes.shards, std::max<Index>(units, 1));
  rows = std::min(rows, std::max(kFewestRows, divide_up(n, wanted_bands)));
  grid.tile_rows = std::max<Index>(1, std::min({rows, n, room.most_rows}));
}

}  // namespace

core::ValuesPlan plan_values(const core::ValuesProblem& problem, const core::ValuesCosts& costs, const ValuesWishes& wishes) {
  core::ValuesPlan plan;
  plan.grid.shape = {.batches = problem.batches, .rows = problem.rows(), .cols = problem.cols(), .self = problem.self, .dtype = problem.dtype};
  // No tile is larger than the matrix.
  plan.grid.tile_rows = std::min(wishes.tile_rows, std::max<Index>(1, problem.rows()));
  plan.grid.tile_cols = std::min(wishes.tile_cols, std::max<Index>(1, problem.cols()));
  plan.threads = wishes.threads;
  const auto itemsize = static_cast<Index>(size_of(problem.dtype));
  const auto m = static_cast<std::uint64_t>(problem.cols());

  // Half of the budget is for prepared columns, a quarter for the workers, the rest for what the sink holds back.
  const std::uint64_t columns = costs.bytes_per_col * m;
  const std::uint64_t budget = wishes.memory / 2;
  const bool whole = columns <= budget;
  const std::uint64_t worker = wishes.memory / 4 / static_cast<std::uint64_t>(wishes.threads);
  const std::uint64_t least = costs.bytes_per_worker + 2 * std::max(costs.bytes_per_row, static_cast<std::uint64_t>(2 * kColUnit * itemsize));
  if (worker < least) {
    support::fail(ErrorCode::out_of_memory, "the memory budget of {} bytes leaves {} to each of {} workers, {} are the least: raise it, or use fewer threads",
                  wishes.memory, worker, wishes.threads, least);
  }
  // Half of what scratch leaves is for the tile, half for what its rows take.
  const auto half = static_cast<Index>((worker - costs.bytes_per_worker) / 2);
  const TileRoom room{.bytes = std::min(kTileBytes, half), .most_rows = std::clamp<Index>(half / static_cast<Index>(std::max<std::uint64_t>(costs.bytes_per_row, 1)), 1, kMostRows)};

  plan.mirrored = whole && by_halves(problem, costs, wishes, itemsize, plan.reason);
  if (!whole && problem.self) plan.reason = "columns are taken in segments";
  if (plan.mirrored) {
    square_tiles(plan, wishes, room, itemsize);
  } else {
    band_tiles(plan, wishes, room, itemsize);
  }
  // Tiles that were asked for may take what columns leave, but no more.
  const auto tile = static_cast<__int128>(plan.grid.tile_rows) * plan.grid.tile_cols * itemsize * (plan.mirrored ? 2 : 1);
  const auto asked = (tile + static_cast<__int128>(costs.bytes_per_row) * plan.grid.tile_rows + costs.bytes_per_worker) * wishes.threads;
  if (asked > static_cast<__int128>(wishes.memory)) {
    support::fail(ErrorCode::out_of_memory, "tiles of {} x {} and their scratch do not fit the memory budget of {} bytes, one for each of {} workers: choose smaller tiles or raise it",
                  plan.grid.tile_rows, plan.grid.tile_cols, wishes.memory, wishes.threads);
  }

  plan.segment_cols = problem.cols();
  plan.segment_batches = problem.batches;
  plan.columns_by_workers = costs.columns_by_workers && problem.batches > 1 && plan.grid.row_tiles() == 1 && plan.grid.col_tiles() == 1 &&
                            columns * static_cast<std::uint64_t>(wishes.threads) <= budget;
  if (plan.columns_by_workers) return plan;
  if (!whole) {
    plan.segment_batches = 1;
    const auto affordable = static_cast<Index>(budget / std::max<std::uint64_t>(costs.bytes_per_col, 1)) / plan.grid.tile_cols * plan.grid.tile_cols;
    if (affordable == 0) {
      support::fail(ErrorCode::out_of_memory, "the memory budget of {} bytes cannot hold a tile's {} columns of {} bytes: raise it, or choose narrower tiles",
                    wishes.memory, plan.grid.tile_cols, costs.bytes_per_col);
    }
    plan.segment_cols = affordable;
  } else if (columns * static_cast<std::uint64_t>(problem.batches) > budget) {
    plan.segment_batches = std::max<Index>(1, static_cast<Index>(budget / std::max<std::uint64_t>(columns, 1)));
  }
  return plan;
}

}  // namespace tessera::engine
