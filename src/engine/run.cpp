// SPDX-License-Identifier: Apache-2.0
#include "engine/run.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace tessera::engine {
namespace {

using core::Candidate;
using core::Range;

constexpr Index kMostPrunedBlocks = 64;

/// One worker and the lists it fills.
struct Hand {
  std::unique_ptr<core::TopkWorker> worker;
  std::vector<Candidate> lists;  // [tile_rows, k]
};

/// Keeps the k best of two ascending lists, in `a`.
void merge_lists(Candidate* a, const Candidate* b, Index k, std::vector<Candidate>& scratch) {
  scratch.resize(static_cast<std::size_t>(k));
  Index i = 0;
  Index j = 0;
  for (Candidate& out : scratch) out = b[j] < a[i] ? b[j++] : a[i++];
  std::ranges::copy(scratch, a);
}

/// Partial lists of the by-base schedule: rows whose splits are not all done.
class SplitMerger {
 public:
  SplitMerger(Index nq, Index row_tiles, const core::QueryPlan& plan, Index k)
      : plan_(plan), k_(k), partial_(plan.splits > 1 ? static_cast<std::size_t>(nq * k * plan.splits) : 0), open_(static_cast<std::size_t>(row_tiles)),
        nq_(nq) {
    for (auto& o : open_) o.store(plan.splits, std::memory_order_relaxed);
  }

  /// Hands over one split's lists. Returns the complete lists to the last that comes, null to the others.
  Candidate* merge(Index row_tile, Index split, Range rows, Candidate* lists) {
    if (plan_.splits == 1) return lists;
    std::copy_n(lists, rows.size() * k_, part(split, rows.first));
    if (open_[static_cast<std::size_t>(row_tile)].fetch_sub(1, std::memory_order_acq_rel) > 1) return nullptr;
    std::vector<Candidate> scratch;
    for (Index r = rows.first; r < rows.last; ++r) {
      for (Index s = 1; s < plan_.splits; ++s) merge_lists(part(0, r), part(s, r), k_, scratch);
    }
    return part(0, rows.first);
  }

 private:
  Candidate* part(Index split, Index row) noexcept { return partial_.data() + (split * nq_ + row) * k_; }

  const core::QueryPlan& plan_;
  Index k_;
  std::vector<Candidate> partial_;          // [splits, nq, k]
  std::vector<std::atomic<Index>> open_;    // [row tiles]
  Index nq_;
};

/// The tiles of a segment, to whoever is free. Which task gets which changes no list, and none waits for one that fell behind.
class SharedTiles final : public core::TileWalk {
 public:
  SharedTiles(std::atomic<Index>& next, Index tile_cols, Index cols) : next_(next), tile_cols_(tile_cols), cols_(cols) {}
  bool next(Range& cols) override {
    const Index first = next_.fetch_add(1, std::memory_order_relaxed) * tile_cols_;
    if (first >= cols_) return false;
    cols = {first, std::min(cols_, first + tile_cols_)};
    return true;
  }

 private:
  std::atomic<Index>& next_;
  Index tile_cols_;
  Index cols_;
};

}  // namespace

core::WorkCounts run_topk(const core::PreparedBaseBackend& base, const core::PreparedSegment& segment, const core::QueryProblem& queries,
                          Range places, const core::BasePlan& base_plan, const core::QueryPlan& plan, const Candidate* carry, core::ListSink& sink,
                          core::Executor& executor, Control& control) {
  const Index nq = places.size();
  const Index k = queries.k;
  const Index row_tiles = (nq + plan.tile_rows - 1) / plan.tile_rows;
  std::vector<Hand> hands(static_cast<std::size_t>(executor.threads()));
  SplitMerger merger(places.last, row_tiles, plan, k);
  std::vector<std::atomic<Index>> next_tiles(static_cast<std::size_t>(row_tiles));  // zero

  const auto run_task = [&](Index task, Hand& hand) {
    const Index row_tile = task / plan.splits;
    const Index split = task % plan.splits;
    const Range rows{places.first + row_tile * plan.tile_rows, std::min(places.last, places.first + (row_tile + 1) * plan.tile_rows)};
    const bool lead = split == 0;
    hand.worker->begin(rows, lead && carry != nullptr ? carry + rows.first * k : nullptr, lead);
    SharedTiles shared(next_tiles[static_cast<std::size_t>(row_tile)], base_plan.tile_cols, segment.cols());
    core::TileWalk& walk = base_plan.pruned ? *hand.worker->near_to_far() : shared;
    for (Range cols; walk.next(cols);) {
      hand.worker->screen({rows, cols});
      if (!base_plan.pruned) control.advance(static_cast<double>(rows.size()) * static_cast<double>(cols.size()));
    }
    // Near tiles come in no order that says how far the walk is: a pruned block counts when it is through.
    if (base_plan.pruned) control.advance(static_cast<double>(rows.size()) * static_cast<double>(segment.cols()));
    hand.worker->finish(hand.lists.data());
    if (Candidate* complete = merger.merge(row_tile, split, rows, hand.lists.data())) {
      hand.worker->place_self(complete);
      sink.put(rows, complete);
    }
  };

  // Pruned blocks take microseconds: a run of them is handed out at a time.
  const Index tasks = row_tiles * plan.splits;
  const Index run = base_plan.pruned ? std::clamp<Index>(tasks / (8 * executor.threads()), 1, kMostPrunedBlocks) : 1;
  executor.run((tasks + run - 1) / run, [&](Index first, int worker) {
    Hand& hand = hands[static_cast<std::size_t>(worker)];
    if (!hand.worker) {
      hand.worker = base.worker(segment, queries, plan);
      hand.lists.resize(static_cast<std::size_t>(plan.tile_rows * k));
    }
    for (Index task = first * run; task < std::min(tasks, (first + 1) * run); ++task) run_task(task, hand);
  });

  core::WorkCounts total;
  for (const Hand& hand : hands) {
    if (hand.worker) total += hand.worker->counts();
  }
  return total;
}

}  // namespace tessera::engine
