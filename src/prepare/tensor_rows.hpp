// SPDX-License-Identifier: Apache-2.0
// Here: narrowed rows as tensor cores take them: in bf16 or as signed 8-bit integers, in panels (kernels/cuda/tensor_layout.hpp), with what
// their scores and bounds need. Not here: choosing centre and scale (narrowing.hpp), the kernel (kernels/cuda/tensor.cuh).
#pragma once

#include <cstddef>

#include "kernels/cuda/tensor_arch.hpp"
#include "prepare/narrowing.hpp"

namespace tessera::prepare {

enum class TensorType : std::uint8_t { bf16, int8 };

/// Widest rows that tensor cores screen: sums of 8-bit products stay below 2^31, and norms are not short (docs/numerics.md).
inline constexpr Index kLargestTensorCols = 32'768;

/// The narrowing of rows for tensor cores: as for the dot screen in float32, or in 8-bit integers, with the bound of what tensor cores add.
/// arch     of the device: its row of kTensorArchs; of no meaning for int8.
Narrowing choose_tensor_narrowing(const RowReader& reader, const metrics::MetricTraits& traits, TensorType type, const cuda::TensorArch* arch,
                                  double bound_inflation);

/// A row narrowed to float32, in bf16: out [padded]. Elements below 2^-62 become 0: no product of two then underflows.
/// returns  the row's terms with what bf16 leaves over in its residual.
NarrowedRow narrow_to_bf16(const NarrowedRow& row, const float* narrowed, Index padded, std::uint16_t* out) noexcept;

/// Rows of one side in panels; rows past the last are filled with zeros, and are columns that no threshold lets through.
class TensorRows {
 public:
  TensorRows(const Narrowing& narrowing, const kernels::CpuKernels& kernels, Index rows);

  /// A worker's room for one row.
  class Scratch {
   public:
    explicit Scratch(Index size) : padded(size), narrowed(static_cast<std::size_t>(size)), halves(static_cast<std::size_t>(size)) {}
    Index padded;
    support::AlignedBuffer<float> narrowed;
    support::AlignedBuffer<std::uint16_t> halves;
  };

  /// Rows may be put in any order, by several threads. row [padded] as RowReader gives it.
  void put_base(Index at, const double* row, Scratch& scratch);
  void put_query(Index at, const double* row, Scratch& scratch);

  Index rows() const noexcept { return rows_; }
  Index chunks() const noexcept { return chunks_; }
  const std::byte* panels() const noexcept { return panels_.data(); }  // [panels, chunks, kPanelChunkBytes]
  std::size_t panel_bytes() const noexcept { return panels_.size(); }
  // What a score takes, [whole panels]. Of base rows:
  const float* bias() const noexcept { return bias_.data(); }
  const float* residual() const noexcept { return residual_.data(); }
  const float* scale() const noexcept { return scale_.data(); }
  // Of queries, in the same place: kernel D's row_factor and row_reach.
  const float* factor() const noexcept { return scale_.data(); }
  const float* reach() const noexcept { return residual_.data(); }
  const NarrowedRow& row(Index at) const noexcept { return info_[static_cast<std::size_t>(at)]; }
  /// Of rows [first, last) that have a bound.
  metrics::RowTerms largest(Index first, Index last) const noexcept;

 private:
  void put(Index at, const NarrowedRow& row, Scratch& scratch, bool query);

  const Narrowing& narrowing_;
  const kernels::CpuKernels& kernels_;
  Index rows_;
  Index chunks_;
  support::AlignedBuffer<std::byte> panels_;
  support::AlignedBuffer<float> bias_;
  support::AlignedBuffer<float> residual_;
  support::AlignedBuffer<float> scale_;
  std::vector<NarrowedRow> info_;
};

}  // namespace tessera::prepare
