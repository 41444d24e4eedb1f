// SPDX-License-Identifier: Apache-2.0
// Here: what the parts of the element metrics' evaluator share.
#pragma once

#include <memory>
#include <vector>

#include "core/values.hpp"
#include "engine/canonical_pair.hpp"
#include "prepare/value_rows.hpp"

namespace tessera::engine {

/// Columns of one batch, packed.
struct PackedColumns {
  core::Range cols;
  prepare::PackedValueRows rows;
};

struct ElementSegment final : core::ValuesSegment {
  core::Range batches;
  core::Range cols;
  std::vector<PackedColumns> packed;  // one a batch; none when every value is canonical, or when workers pack
  bool by_workers = false;            // a tile is a batch: its worker packs its columns, so that they never leave its cache
};

/// All a worker needs; everything outlives it.
struct ElementInputs {
  const kernels::CpuKernels& kernels;
  const metrics::MetricTraits& traits;
  const metrics::Lattice* lattice;                         // null unless traits.nearest_image
  const core::ValuesProblem& problem;
  const std::vector<prepare::ValueNarrowing>& narrowings;  // one a batch; none when every value is canonical
  const std::vector<Index>& zero_rows;                     // of x, ascending; only where rows are normalised
  const std::vector<Index>& zero_cols;                     // of y
  const ElementSegment& segment;
  Index block_cols;  // columns worked on at once

  bool packs() const noexcept { return !problem.canonical() && lattice == nullptr; }
};

/// Canonical values of any pairs of rows, by doubles that are kept for a while.
class CanonicalPairs {
 public:
  explicit CanonicalPairs(const ElementInputs& in, Index rows, Index cols);
  /// From now on rows are x's `rows`, columns y's `cols` (row numbers of the whole sets).
  void place_rows(core::Range rows);
  void place_cols(core::Range cols);
  double value(Index row, Index col);
  const double* row(Index at) { return x_.at(at); }
  const double* col(Index at) { return y_.at(at); }

 private:
  struct Cache {
    Cache(const prepare::RowReader& reader_, Index capacity);
    const double* at(Index row);
    void place(core::Range rows);
    prepare::RowReader reader;
    core::Range range;
    support::AlignedBuffer<double> rows;
    std::vector<char> present;
  };

  const metrics::MetricTraits& traits_;
  CanonicalPair pair_;
  Cache x_;
  Cache y_;
};

std::unique_ptr<core::ValuesWorker> make_element_worker(const ElementInputs& inputs, Index tile_rows);
/// Scratch of a worker a block column and a tile row, for plans.
std::uint64_t element_row_bytes(Index d, bool canonical) noexcept;
std::uint64_t element_block_bytes(Index d, Index block_cols) noexcept;

}  // namespace tessera::engine
