// SPDX-License-Identifier: Apache-2.0
// Here: an order of rows in which neighbours in space are neighbours in number. Not here: what is done with it (block_tree.hpp).
#pragma once

#include <span>
#include <vector>

#include "core/executor.hpp"
#include "core/problem.hpp"
#include "metrics/lattice.hpp"
#include "prepare/row_reader.hpp"

namespace tessera::prepare {

/// What an order is made of. NaN may stand for a row that lies nowhere.
struct Coordinates {
  Index count = 0;
  Index d = 0;
  std::vector<float> values;  // [count, d]
  const float* row(Index i) const noexcept { return values.data() + i * d; }
};

/// Reads the given rows (ascending, finite), rounded to nearest; rows empty: all of them.
/// lattice  of metrics between nearest images, else null: rows are wrapped first, and become three columns of its frame.
Coordinates read_coordinates(const RowReader& reader, std::span<const Index> rows, core::Executor& executor, const metrics::Lattice* lattice = nullptr);

/// Members of a group in trees over runs of an order (block_tree.hpp).
inline constexpr Index kFanOut = kernels::kBoxes;

/// Orders points by halving them again and again across the widest side of their bounding box (a k-d tree's leaves, left to right).
/// Cuts lie at multiples of `block` times the largest power of kFanOut that is less than the part, then at multiples of `fine`: runs of `block`
/// points, runs of kFanOut such blocks and so on are compact, and within blocks runs of `fine`.
///
/// returns  the permutation: order[i] is the point at place i.
/// cost     O(count d log(count / fine)); a copy of the coordinates and 8 bytes a point.
std::vector<std::uint32_t> kd_order(const Coordinates& points, Index block, Index fine, core::Executor& executor);

/// Row numbers of all rows but the special ones, in k-d order with runs of `fine`.
std::vector<Index> ordered_rows(const RowReader& reader, const core::SpecialRows& special, Index fine, core::Executor& executor,
                                const metrics::Lattice* lattice = nullptr);

/// The cut of `count` points between two parts, as kd_order makes it; 0 when they stay together.
Index kd_cut(Index count, Index block, Index fine) noexcept;

}  // namespace tessera::prepare
