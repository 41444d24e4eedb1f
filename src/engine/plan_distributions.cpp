// SPDX-License-Identifier: Apache-2.0
#include "engine/plan_distributions.hpp"

#include <algorithm>

#include "engine/quantile_sketch.hpp"
#include "prepare/distributions.hpp"
#include "support/fail.hpp"

namespace tessera::engine {
namespace {

constexpr Index kMostTileCols = 4096;
constexpr Index kMostTileRows = 64;
constexpr Index kScreenedTileCols = 192;  // of the first tile every pair has its fine sketch summed. Measured: 5,000 rows of 2,000 samples, 0.6 of the time that 2,016 take
constexpr Index kScreenedFrom = 64;       // chosen: shorter ones are refined in about the time that their sketches take
// Both sketches, the narrowed one, and the terms of their bounds (engine/sorted_segment.hpp).
constexpr std::uint64_t kSketchBytes = kFineBlocks * sizeof(double) + kCoarseBlocks * (sizeof(double) + sizeof(float)) + 2 * sizeof(SketchTerms);

Index divide_up(Index a, Index b) noexcept { return (a + b - 1) / b; }

/// The most that any run of `rows` rows takes, starting at multiples of `rows`.
std::uint64_t largest_segment(const RowSet& base, Index rows) noexcept {
  std::uint64_t most = 0;
  for (Index first = 0; first < base.rows; first += rows) {
    most = std::max(most, prepare::distribution_bytes(base, {first, std::min(base.rows, first + rows)}));
  }
  return most;
}

Index mean_bytes(const RowSet& rows) noexcept {
  if (rows.rows == 0) return 1;
  return static_cast<Index>(prepare::distribution_bytes(rows, {0, rows.rows}) / static_cast<std::uint64_t>(rows.rows)) + 1;
}

Screen choose_screen(const RowSet& base, Screen wish) {
  if (wish == Screen::double_precision) return wish;
  if (wish == Screen::automatic) {
    const Index items = base.rows == 0 ? 0 : base.offsets != nullptr ? (base.offsets[base.rows] - base.offsets[0]) / base.rows : base.cols;
    return items >= kScreenedFrom ? Screen::fp32_direct : Screen::double_precision;
  }
  if (wish != Screen::fp32 && wish != Screen::fp32_direct) {
    support::fail(ErrorCode::unsupported, "the {} screen has no form for wasserstein: use auto or fp32-direct", name_of(wish));
  }
  return Screen::fp32_direct;
}

/// Segments of about `rows` rows, in whole tiles: tiles never cross segments.
core::BasePlan in_tiles(const RowSet& base, Index rows, Index tile_cols, Screen screen) noexcept {
  core::BasePlan plan;
  plan.screen = screen;
  plan.tile_cols = tile_cols;
  plan.segment_rows = divide_up(rows, tile_cols) * tile_cols;
  plan.segments = std::max<Index>(1, divide_up(base.rows, plan.segment_rows));
  return plan;
}

}  // namespace

core::BasePlan plan_distributions(const RowSet& base, const core::DeviceInfo& device, const Wishes& wishes, bool whole) {
  const Screen screen = choose_screen(base, wishes.screen);
  const std::uint64_t budget = wishes.memory - wishes.memory / 4;
  Index segments = 1;
  while (segments < base.rows && largest_segment(base, divide_up(base.rows, segments)) > budget) segments *= 2;
  segments = std::min(segments, std::max<Index>(1, base.rows));
  const Index rows = std::max<Index>(1, divide_up(base.rows, segments));
  const std::uint64_t need = largest_segment(base, rows);
  if (need > budget || (whole && segments > 1)) {
    support::fail(ErrorCode::out_of_memory, "sorting {} distributions takes {} bytes, {} are allowed: raise the memory budget{}",
                  whole ? base.rows : rows, whole ? largest_segment(base, std::max<Index>(1, base.rows)) : need, budget,
                  whole ? ", or search without preparing (the base is then streamed)" : "");
  }
  if (screen == Screen::fp32_direct) {
    // The screen takes whole panels, and memory for its sketches: where the budget has none, every pair is refined.
    const Index wish = std::min(wishes.tile > 0 ? wishes.tile : kScreenedTileCols, rows);
    const core::BasePlan plan = in_tiles(base, rows, divide_up(wish, device.panel_cols) * device.panel_cols, screen);
    if (largest_segment(base, plan.segment_rows) + kSketchBytes * static_cast<std::uint64_t>(std::min(plan.segment_rows, base.rows)) <= budget) return plan;
  }
  // Half of L2 holds a tile's distributions where they are that short.
  const Index wish = wishes.tile > 0 ? wishes.tile : std::clamp<Index>(device.l2_bytes / 2 / mean_bytes(base), 16, kMostTileCols);
  const core::BasePlan plan = in_tiles(base, rows, std::clamp<Index>(wish, 1, rows), Screen::double_precision);
  return largest_segment(base, plan.segment_rows) <= budget ? plan : in_tiles(base, rows, rows, Screen::double_precision);
}

core::QueryPlan plan_distribution_queries(const RowSet& queries, const RowSet& base, const core::BasePlan& plan, const core::DeviceInfo& device,
                                          const Wishes& wishes) {
  core::QueryPlan out;
  const Index tasks = Index{4} * device.threads;  // as for vectors: the last ones should not wait
  out.tile_rows = std::clamp<Index>(divide_up(queries.rows, tasks), 1, kMostTileRows);
  const Index row_tiles = divide_up(queries.rows, out.tile_rows);
  out.schedule = wishes.schedule;
  if (out.schedule == Schedule::automatic) {
    out.schedule = row_tiles < device.threads && device.threads > 1 ? Schedule::by_base : Schedule::by_query;
  }
  if (out.schedule == Schedule::by_base) {
    const Index column_tiles = std::max<Index>(1, divide_up(std::min(base.rows, plan.segment_rows), plan.tile_cols));
    out.splits = std::min(column_tiles, std::max<Index>(2, divide_up(Index{2} * device.threads, std::max<Index>(row_tiles, 1))));
  }
  return out;
}

}  // namespace tessera::engine
