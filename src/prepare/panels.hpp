// SPDX-License-Identifier: Apache-2.0
// Here: the packed base of one segment: panels, tile terms, and which base row each position is.
// Not here: choosing centre and scale (narrowing.hpp).
#pragma once

#include <vector>

#include "core/backend.hpp"
#include "core/problem.hpp"
#include "prepare/block_tree.hpp"
#include "prepare/narrowing.hpp"

namespace tessera::prepare {

/// A segment of the base as CPU kernels take it. Positions number the rows that are screened; rows left out (not finite,
/// zero under cosine) have none.
struct Panels final : core::PreparedSegment {
  RowSet rows;                              // this segment of the base
  core::SpecialRows special;                // numbered within the segment
  Index count = 0;                          // positions
  Index tile_cols = 0;
  std::vector<Index> row_of_position;       // [count]; empty: position is row
  support::AlignedBuffer<float> panels;     // [ceil(count / panel_cols), depth, panel_cols] words; empty for the double screen
  support::AlignedBuffer<float> bias;       // [ceil(count / panel_cols), panel_cols]; dot form only
  support::AlignedBuffer<float> col_scale;  // likewise; 8-bit rows only: the step of each row's integers
  support::AlignedBuffer<float> col_residual;      // likewise; 8-bit and bf16 rows: what narrowing leaves over, its norm rounded up
  support::AlignedBuffer<std::int32_t> col_start;  // likewise: what takes the offset of the queries' integers out of a sum
  std::vector<metrics::RowTerms> tile_terms;  // [ceil(count / tile_cols)]: maxima over the tile's rows; empty when pruned
  metrics::RowTerms all_terms;              // maxima over all rows
  BlockTree tree;                           // over tiles; empty unless the segment is pruned
  support::AlignedBuffer<double> exact;     // [count, exact_stride] rows as the canonical sum takes them, in order of positions; pruned segments of few columns only
  Index exact_stride = 0;
  bool bypassed = false;                    // some row has no bound

  Index cols() const noexcept override { return count; }
  std::uint64_t bytes() const noexcept override {
    return panels.bytes() + bias.bytes() + col_scale.bytes() + col_residual.bytes() + col_start.bytes() +
           row_of_position.size() * sizeof(Index) + tile_terms.size() * sizeof(metrics::RowTerms) + tree.bytes() + exact.bytes();
  }
  std::span<const Index> order() const noexcept override { return tree.empty() ? std::span<const Index>{} : row_of_position; }
  void describe(Report& report) const override {
    report.skipped_base += std::ssize(special.skipped);
    report.zero_base += std::ssize(special.zero);
    report.denied_base += std::ssize(special.denied);
  }
  Index row_at(Index position) const noexcept override { return row_of_position.empty() ? position : row_of_position[static_cast<std::size_t>(position)]; }
  std::int64_t id_at(Index position) const noexcept { return rows.first_id + row_at(position); }
};

/// Packs a segment; narrowing is null for the double screen, which needs positions only. pruned: positions follow a k-d order, in
/// blocks of tile_cols.
std::unique_ptr<Panels> pack_panels(const RowReader& reader, core::SpecialRows special, const Narrowing* narrowing,
                                    Index tile_cols, bool pruned, core::Executor& executor);

/// kd_order's fine runs: at least the queries in one tile of a pruned search.
inline constexpr Index kPrunedRows = 8;

/// Columns that a row of d columns has in Panels::exact: 4 or 8; 0 where d is too large for it.
inline Index exact_columns(Index d) noexcept { return d > kernels::kMostGathered ? 0 : d <= 4 ? 4 : 8; }

/// The terms of a tile, with one more row in it.
void take_maxima(metrics::RowTerms& into, const metrics::RowTerms& row) noexcept;

/// Bytes that packing n rows of `depth` words will take.
std::uint64_t panel_bytes(Index n, Index depth, Index panel_cols, Screen screen) noexcept;

}  // namespace tessera::prepare
