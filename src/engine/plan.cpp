// SPDX-License-Identifier: Apache-2.0
#include "engine/plan.hpp"

#include <algorithm>
#include <limits>

#include "core/candidate.hpp"
#include "prepare/panels.hpp"
#include "support/fail.hpp"

namespace tessera::engine {
namespace {

constexpr Index kLargestSegment = Index{1} << 30;  // positions are 32-bit inside a segment

Index round_up(Index value, Index unit) noexcept { return (value + unit - 1) / unit * unit; }
Index divide_up(Index a, Index b) noexcept { return (a + b - 1) / b; }

Screen choose_screen(Index d, const metrics::MetricTraits& traits, const core::DeviceInfo& device, Screen wish) {
  if (wish == Screen::double_precision || d > kLargestScreenedCols) return Screen::double_precision;
  if (traits.nearest_image) {
    if (wish == Screen::fp32_dot || wish == Screen::int8 || wish == Screen::bf16) {
      support::fail(ErrorCode::unsupported, "the {} screen has no form for {}: use auto or fp32-direct", name_of(wish), name_of(traits.metric));
    }
    return Screen::fp32_direct;
  }
  if (wish == Screen::fp32_direct && !traits.has_direct) {
    support::fail(ErrorCode::unsupported, "the fp32-direct screen has no form for {}: use auto or fp32-dot", name_of(traits.metric));
  }
  if (wish == Screen::fp32_dot && !traits.has_dot) {
    support::fail(ErrorCode::unsupported, "the fp32-dot screen has no form for {}: use auto or fp32-direct", name_of(traits.metric));
  }
  if (wish == Screen::int8 && (!traits.has_dot || !device.has_int8)) {
    support::fail(ErrorCode::unsupported, "the int8 screen has no form for {} on this CPU: use auto or fp32", name_of(traits.metric));
  }
  if (wish == Screen::bf16 && (!traits.has_dot || !device.has_bf16)) {
    support::fail(ErrorCode::unsupported, "the bf16 screen is for l2, sqeuclidean, cosine and inner_product, on CPUs with AVX512_BF16 and on tensor cores (the cuda backend on A100, H100 or H200): use auto or fp32");
  }
  if ((wish == Screen::int8 || wish == Screen::bf16) && d <= kLargestInt8Cols) return wish;
  if (wish == Screen::fp32_direct || wish == Screen::fp32_dot) return wish;
  if (!traits.has_dot) return Screen::fp32_direct;
  if (!traits.has_direct) return Screen::fp32_dot;
  return d < metrics::kDirectBelow ? Screen::fp32_direct : Screen::fp32_dot;
}

/// Boxes bound sums over differences, and the walk pays where a screen is as cheap on few rows as on many.
bool choose_pruning(Index n, Index d, const metrics::MetricTraits& traits, Screen screen, const core::DeviceInfo& device, Pruning wish) {
  const bool possible = device.can_prune && (traits.has_direct || traits.nearest_image) && screen == Screen::fp32_direct;
  if (wish == Pruning::on && !possible) {
    support::fail(ErrorCode::unsupported, "pruning needs the fp32-direct screen, which {} with these options does not use: leave pruning to auto",
                  name_of(traits.metric));
  }
  return possible && (wish == Pruning::on || (wish == Pruning::automatic && d <= kPrunedUpTo && n >= kPrunedFrom));
}

/// Workers that may share a block of queries, each with lists of its own over the tiles it gets: as many as those lists pay and fit for.
Index sharing_workers(Index nq, Index nb, Index k, const core::DeviceInfo& device, const Wishes& wishes) noexcept {
  if (device.memory > 0) return 1;  // a device fills itself with one block
  // Each worker looks at some thousand rows for a first threshold, and computes about k pairs of its own, each as dear as 32 of a screen.
  constexpr Index kRowsAWorker = 16'384;
  constexpr Index kRowsANeighbour = 32;
  const Index paying = nb / std::max(kRowsAWorker, kRowsANeighbour * k);
  const auto list = static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(std::max<Index>(nq, 1)) * sizeof(core::Candidate);
  const auto fitting = static_cast<Index>(std::min<std::uint64_t>(wishes.memory / 8 / list, static_cast<std::uint64_t>(device.threads)));
  return std::max<Index>(1, std::min({paying, fitting, static_cast<Index>(device.threads)}));
}

/// Whole panels that half of a device's own memory holds: packed, and once more for exact sums, as doubles at worst.
Index panels_on_device(Index d, Index depth, Index width, const core::DeviceInfo& device) noexcept {
  if (device.memory == 0) return std::numeric_limits<Index>::max() / width;
  const auto panel = static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(4 * (depth + 2) + 8 * d);
  return static_cast<Index>(device.memory / 2 / panel);
}

/// Query rows that a quarter of a device's own memory holds for every worker.
Index rows_on_device(Index k, Index d, const core::DeviceInfo& device) noexcept {
  if (device.memory == 0) return std::numeric_limits<Index>::max();
  return static_cast<Index>(device.memory / 4 / static_cast<std::uint64_t>(device.threads) / device.row_bytes(k, d));
}

}  // namespace

std::uint64_t order_bytes(Index d) noexcept { return static_cast<std::uint64_t>(8 * d + 40 + kernels::kMostGathered * 8); }

core::BasePlan plan_base(Index n, Index d, const metrics::MetricTraits& traits, const core::DeviceInfo& device, const Wishes& wishes,
                         bool whole) {
  core::BasePlan plan;
  const bool free_choice = wishes.screen == Screen::automatic || wishes.screen == Screen::fp32;
  const bool pruning_asked = wishes.prune == Pruning::on && free_choice && traits.has_direct;
  plan.screen = choose_screen(d, traits, device, pruning_asked ? Screen::fp32_direct : wishes.screen);
  plan.pruned = choose_pruning(n, prepare::packed_cols(traits, d), traits, plan.screen, device, wishes.prune);
  plan.depth = prepare::narrowed_depth(prepare::packed_cols(traits, d), plan.screen);
  const Index width = device.panel_cols;

  // What the budget holds, in whole panels; a quarter of it is left for lists and workers.
  const std::uint64_t budget = wishes.memory - wishes.memory / 4;
  const std::uint64_t packed = std::max<std::uint64_t>(1, prepare::panel_bytes(width, plan.depth, width, plan.screen));
  const std::uint64_t ordering = order_bytes(prepare::packed_cols(traits, d)) * static_cast<std::uint64_t>(width);
  plan.pruned = plan.pruned && packed + ordering <= budget;
  const std::uint64_t panel = packed + (plan.pruned ? ordering : 0);
  const auto affordable_panels = static_cast<Index>(std::min<std::uint64_t>(budget / panel, static_cast<std::uint64_t>(kLargestSegment / width)));
  const Index affordable = std::min(affordable_panels, panels_on_device(d, plan.depth, width, device)) * width;
  if (whole && affordable < n) {
    support::fail(ErrorCode::out_of_memory,
                  "preparing {} rows of {} columns takes {} bytes, {} are allowed: raise the memory budget, or search without "
                  "preparing (the base is then streamed)",
                  n, d, prepare::panel_bytes(n, plan.depth, width, plan.screen), budget);
  }
  if (affordable == 0) {
    support::fail(ErrorCode::out_of_memory, "the memory budget of {} bytes cannot hold {} rows of {} columns, the fewest that are worked on at once: raise it",
                  wishes.memory, width, d);
  }

  // Half of L2 holds the tile; the other half is for the query panel at work and for row states.
  const Index row_bytes = plan.depth * static_cast<Index>(plan.screen == Screen::double_precision ? sizeof(double) : sizeof(float));
  const Index usual = plan.pruned ? width : std::min(device.l2_bytes / 2 / row_bytes, device.most_tile_cols);
  const Index wish = wishes.tile > 0 ? wishes.tile : usual;
  const Index tile = round_up(std::clamp<Index>(wish, 1, std::max<Index>(n, 1)), width);
  plan.tile_cols = std::min(tile, affordable);

  const Index most = affordable / plan.tile_cols * plan.tile_cols;  // tiles never cross segments
  plan.segments = std::max<Index>(1, divide_up(n, most));
  plan.segment_rows = std::max(plan.tile_cols, round_up(divide_up(n, plan.segments), plan.tile_cols));
  plan.segments = std::max<Index>(1, divide_up(n, plan.segment_rows));
  return plan;
}

core::QueryPlan plan_queries(Index nq, Index nb, Index d, Index k, const core::BasePlan& base, const core::DeviceInfo& device,
                             const Wishes& wishes) {
  core::QueryPlan plan;
  const Index unit = device.panel_rows;
  if (base.pruned) {
    // A tile is one panel of queries close together: the smaller its box, the fewer tiles it visits.
    plan.tile_rows = std::max<Index>(1, std::min(unit, nq));
    plan.schedule = Schedule::by_query;
    return plan;
  }
  // Every base tile comes from memory once for each query tile, so query tiles are large: packed, up to L2's size (each panel is
  // read once a tile, in order). Row states (16 bytes a list entry, 12 a pending pair) take an eighth of the budget.
  const Index by_cache = device.l2_bytes / (base.depth * static_cast<Index>(sizeof(float)));
  const auto row_state = static_cast<std::uint64_t>(d) * 12 + static_cast<std::uint64_t>(k) * (16 + 16 + (base.screen == Screen::int8 || base.screen == Screen::bf16 ? 4 : 2) * 12) + 4096;
  const auto by_memory = static_cast<Index>(std::min<std::uint64_t>(
      wishes.memory / 8 / static_cast<std::uint64_t>(device.threads) / row_state, static_cast<std::uint64_t>(device.most_tile_rows)));
  Index rows = std::clamp(by_cache, unit, device.most_tile_rows);
  rows = std::max<Index>(1, std::min({rows, by_memory, rows_on_device(k, d, device)}));
  if (rows > unit) rows = rows / unit * unit;

  const Index column_tiles = std::max<Index>(1, divide_up(std::min(nb, base.segment_rows), base.tile_cols));
  // Four tiles a worker keep the last ones from waiting. Below that, workers share tiles where they can; else tiles shrink, and then the base
  // is split. A batch of a hundred queries in blocks of 32 would fetch the base from memory four times.
  const Index wanted_tasks = Index{4} * device.threads;
  const Index smallest = 4 * unit;
  const Index sharing = divide_up(nq, rows) < wanted_tasks && wishes.schedule == Schedule::automatic ? sharing_workers(nq, nb, k, device, wishes) : 1;
  const Index wanted_tiles = sharing == device.threads ? 1 : divide_up(wanted_tasks, sharing);
  if (divide_up(nq, rows) < wanted_tiles) rows = std::min(rows, std::max(smallest, round_up(divide_up(nq, wanted_tiles), unit)));
  plan.tile_rows = std::max<Index>(1, std::min(rows, std::max<Index>(nq, 1)));

  const Index row_tiles = divide_up(nq, plan.tile_rows);
  const bool too_few = row_tiles < device.threads;
  plan.schedule = wishes.schedule;
  if (plan.schedule == Schedule::automatic) plan.schedule = (too_few || sharing > 1) && device.threads > 1 ? Schedule::by_base : Schedule::by_query;
  if (plan.schedule == Schedule::by_base) {
    const Index wanted = std::max<Index>({2, sharing, divide_up(device.threads, std::max<Index>(row_tiles, 1))});
    plan.splits = std::min(column_tiles, wanted);
  }
  return plan;
}

}  // namespace tessera::engine
