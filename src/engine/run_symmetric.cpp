// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "engine/run.hpp"

namespace tessera::engine {
namespace {

using core::Candidate;
using core::Range;

struct Meeting {
  Index a;
  Index b;
};

/// Meeting i of all n(n-1)/2 between n blocks, in rounds: in round o block a meets block a + o around a circle. After every round each block has
/// met as many as any other, so all thresholds fall together; neighbours in a round share no block, but in the first.
Meeting meeting(Index i, Index blocks) noexcept {
  const Index a = i % blocks;
  return {a, (a + i / blocks + 1) % blocks};
}

}  // namespace

core::WorkCounts run_symmetric(const core::PreparedBaseBackend& base, const core::PreparedSegment& segment, const core::QueryProblem& queries,
                               const core::BasePlan& base_plan, const core::QueryPlan& plan, core::ListSink& sink, core::Executor& executor, Control& control) {
  const auto search = base.symmetric(segment, queries, plan);
  const Index blocks = search->blocks();
  std::vector<std::unique_ptr<core::SymmetricWorker>> hands(static_cast<std::size_t>(executor.threads()));
  const auto hand = [&](int worker) -> core::SymmetricWorker& {
    auto& mine = hands[static_cast<std::size_t>(worker)];
    if (!mine) mine = search->worker();
    return *mine;
  };
  const auto rows_of = [&](Index block) { return static_cast<double>(search->rows(block).size()); };

  executor.run(blocks, [&](Index block, int worker) {
    hand(worker).begin(block);
    control.advance(rows_of(block) * rows_of(block));
  });
  executor.run(blocks * (blocks - 1) / 2, [&](Index i, int worker) {
    const auto [a, b] = meeting(i, blocks);
    hand(worker).meet(a, b);
    control.advance(2 * rows_of(a) * rows_of(b));
  });
  std::vector<std::vector<Candidate>> lists(hands.size());  // [tile_rows, k] each
  const Index cols = segment.cols();
  executor.run((cols + plan.tile_rows - 1) / plan.tile_rows, [&](Index part, int worker) {
    auto& mine = lists[static_cast<std::size_t>(worker)];
    mine.resize(static_cast<std::size_t>(plan.tile_rows * queries.k));
    const Range rows{part * plan.tile_rows, std::min(cols, (part + 1) * plan.tile_rows)};
    hand(worker).finish(rows, mine.data());
    sink.put(rows, mine.data());
    control.check();
  });

  // Rows without a position are queries like any others.
  core::WorkCounts total = run_topk(base, segment, queries, {cols, queries.queries.rows}, base_plan, plan, nullptr, sink, executor, control);
  for (const auto& mine : hands) {
    if (mine) total += mine->counts();
  }
  return total;
}

}  // namespace tessera::engine
