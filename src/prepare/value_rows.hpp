// SPDX-License-Identifier: Apache-2.0
// Here: rows as the value kernels take them: narrowed about one centre a matrix, packed, with the terms that decide which values
// are good enough. Not here: the kernels, and what happens to the other values (engine/cpu_values).
#pragma once

#include "kernels/cpu/contract.hpp"
#include "prepare/narrowing.hpp"

namespace tessera::prepare {

/// Chosen once for a matrix (one batch element): a value must not depend on its tile.
struct ValueNarrowing {
  Narrowing rows;                 // centre and scale; the same for x and y
  kernels::ValueForm form = kernels::ValueForm::direct_squared;
  metrics::Element element = metrics::Element::squared_difference;
  kernels::ValueFinish finish{};
  bool fallback = false;          // a direct form exists for values that the dot form cannot vouch for
};

/// The form for d columns.
kernels::ValueForm value_form(const metrics::MetricTraits& traits, Index d) noexcept;
/// Chooses centre and scale from a sample of the reader's rows.
ValueNarrowing choose_value_narrowing(const RowReader& reader, const metrics::MetricTraits& traits);

/// Rows in panels of `width`, with their terms. A row that fp32 cannot serve is NaN, and so are all its values.
struct PackedValueRows {
  PackedValueRows(Index rows, Index d, Index panel_width);
  kernels::ValueRows view(Index panel) const noexcept;
  Index panels() const noexcept { return panel_count; }
  /// Takes up rows [first, first + count) of another packing, in panels of its own.
  void copy_rows(const PackedValueRows& from, Index first, Index count) noexcept;
  /// Rows [first, last) become NaN.
  void poison(Index first, Index last) noexcept;

  Index cols;
  Index width;
  Index panel_count;
  support::AlignedBuffer<float> packed;   // [panels, d, width]
  support::AlignedBuffer<double> norm2;   // [panels, width]
  support::AlignedBuffer<float> norm;     // [panels, width]
  support::AlignedBuffer<float> slack;    // [panels, width]
};
std::uint64_t packed_value_bytes(Index rows, Index d, Index width) noexcept;

/// Fills panels, one worker.
class ValuePacker {
 public:
  ValuePacker(const RowReader& reader, const ValueNarrowing& narrowing, Index width);

  /// Packs rows [first, first + count) of the reader into a panel; places past them become NaN.
  void pack(Index first, Index count, PackedValueRows& out, Index panel);

 private:
  const RowReader& reader_;
  const ValueNarrowing& narrowing_;
  Index width_;
  Index stride_;
  support::AlignedBuffer<double> row_;
  support::AlignedBuffer<float> narrow_;
};

}  // namespace tessera::prepare
