// SPDX-License-Identifier: Apache-2.0
// Here: one segment of a base of distributions: sorted, and sketched for the screen. Not here: searching it (wasserstein_topk).
#pragma once

#include <memory>
#include <vector>

#include "core/backend.hpp"
#include "engine/quantile_sketch.hpp"
#include "prepare/panels.hpp"

namespace tessera::engine {

/// Positions number the distributions that have an answer.
struct SortedSegment final : core::PreparedSegment {
  std::shared_ptr<const core::Distributions> set;
  std::vector<Index> row_of_position;  // [cols()]
  std::int64_t first_id = 0;
  Index denied = 0;

  // Screened segments only.
  std::unique_ptr<prepare::Narrowing> narrowing;  // null: every pair is refined
  std::unique_ptr<prepare::Panels> coarse;        // kCoarseBlocks means a position
  support::AlignedBuffer<double> fine;            // [cols(), kFineBlocks]
  std::vector<SketchTerms> coarse_terms;          // [cols()]
  std::vector<SketchTerms> fine_terms;            // [cols()]
  std::vector<SketchTerms> tile_terms;            // [tiles]: of the coarse sketches

  Index cols() const noexcept override { return std::ssize(row_of_position); }
  std::uint64_t bytes() const noexcept override {
    return set->bytes() + row_of_position.size() * (sizeof(Index) + 2 * sizeof(SketchTerms)) + fine.bytes() + (coarse ? coarse->bytes() : 0);
  }
  void describe(Report& report) const override {
    report.skipped_base += std::ssize(set->skipped);
    report.denied_base += denied;
  }

  const core::Distribution& at(Index position) const noexcept {
    return set->rows[static_cast<std::size_t>(row_of_position[static_cast<std::size_t>(position)])];
  }
  std::int64_t id_at(Index position) const noexcept { return first_id + row_of_position[static_cast<std::size_t>(position)]; }
};

/// Sorts a segment; `tile_cols` > 0 also sketches it, in tiles of that many positions.
std::unique_ptr<SortedSegment> sort_segment(const kernels::CpuKernels& kernels, const core::BaseProblem& problem, core::Range rows, Index tile_cols,
                                            core::Executor& executor);

}  // namespace tessera::engine
