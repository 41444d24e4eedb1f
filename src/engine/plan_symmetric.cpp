// SPDX-License-Identifier: Apache-2.0
#include "engine/plan_symmetric.hpp"

#include <algorithm>

#include "engine/symmetric_topk.hpp"
#include "prepare/panels.hpp"
#include "support/fail.hpp"

namespace tessera::engine {
namespace {

/// Why it cannot be done, for one who asked for it; null where it can.
const char* obstacle(bool itself, const core::BasePlan& base, const core::DeviceInfo& device, const Wishes& wishes) noexcept {
  if (!itself) return "the queries are not the base itself";
  if (!device.can_share) return "this backend has no symmetric schedule";
  if (base.pruned) return "pruned tiles serve one side only";
  if (base.screen != Screen::fp32_dot && base.screen != Screen::int8) return "only the fp32-dot and int8 screens serve both sides";
  if (wishes.schedule == Schedule::by_base) return "the by-base schedule was asked for, too";
  if (base.segments != 1) return "the base does not fit into the memory budget at once";
  return nullptr;
}

}  // namespace

void plan_symmetric(bool itself, Index n, Index k, const core::BasePlan& base, const core::DeviceInfo& device, const Wishes& wishes, core::QueryPlan& plan) {
  if (wishes.symmetric == Symmetry::off) return;
  const bool asked = wishes.symmetric == Symmetry::on;
  if (const char* why = obstacle(itself, base, device, wishes)) {
    if (asked) support::fail(ErrorCode::unsupported, "a symmetric search is not possible, because {}: leave symmetric to auto", why);
    return;
  }
  const auto rows = static_cast<std::uint64_t>(n);
  const std::uint64_t need = prepare::panel_bytes(n, base.depth, device.panel_cols, base.screen) +
                             rows * (symmetric_row_bytes(k, base.depth) + static_cast<std::uint64_t>(k) * sizeof(core::Candidate));
  const std::uint64_t room = wishes.memory - wishes.memory / 8;  // the rest is the workers'
  if (need > room) {
    if (asked) {
      support::fail(ErrorCode::out_of_memory, "a symmetric search of {} rows takes {} bytes, {} are allowed: raise the memory budget, or leave symmetric to auto", n, need, room);
    }
    return;
  }
  // Own blocks should say where neighbours are, and blocks be more than workers, which lock them.
  const bool pays = n >= kSymmetricFrom && wishes.schedule == Schedule::automatic && 4 * k <= base.tile_cols && n / std::min(base.tile_cols, kSymmetricTile) >= 2 * device.threads;
  if (!asked && !pays) return;
  plan.symmetric = true;
  plan.schedule = Schedule::by_query;
  plan.splits = 1;
}

void plan_symmetric_tiles(Index n, const core::DeviceInfo& device, const Wishes& wishes, core::BasePlan& base) noexcept {
  if (wishes.tile > 0) return;
  const Index width = device.panel_cols;
  const Index wanted = (std::max(n / kSymmetricBlocks, kSymmetricTile) + width - 1) / width * width;
  base.tile_cols = std::min(base.tile_cols, wanted);
  base.segment_rows = (n + base.tile_cols - 1) / base.tile_cols * base.tile_cols;
}

}  // namespace tessera::engine
