// SPDX-License-Identifier: Apache-2.0
// Here: what kernel D takes, and the shape of its blocks. Not here: the kernel (tensor.cuh), how panels are made (tensor_layout.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/params.hpp"
#include "kernels/cuda/tensor_layout.hpp"

namespace tessera::cuda {

static_assert(kTensorPanel == kPanel);  // rows are filled up to whole panels of either kind

inline constexpr unsigned kTensorThreads = 128;  // four warps, each with a quarter of the tile: 64 x 64
inline constexpr unsigned kTensorStages = 4;

/// score = bias - row_reach * col_residual - row_factor * (col_scale * sum). One block a row panel and `span` column panels, grid
/// [column panels / span, row panels].
struct TensorParams {
  const unsigned char* queries;  // [row panels, chunks, kPanelChunkBytes]
  const unsigned char* base;     // [column panels, chunks, kPanelChunkBytes]
  const float* bias;             // [columns, whole panels]
  const float* col_residual;     // [columns, whole panels]: of the base row's own rounding
  const float* col_scale;        // [columns, whole panels]; 8 bits: a unit's value. Not read for bf16
  const float* row_factor;       // [rows, whole panels]; 1 or 2, in 8 bits times a unit's value
  const float* row_reach;        // [rows, whole panels]: what a unit of col_residual may add
  RowArrays arrays;
  std::uint32_t first_panel;     // of columns
  std::uint32_t last_panel;
  std::uint32_t span;            // column panels that one block takes, one after the other
  std::uint32_t columns;         // positions there are
  std::uint32_t chunks;          // of a row
};

/// Up to this many chunks a block keeps its queries in shared memory over all its column panels; past it they are read again with each. Two
/// blocks then still share a multiprocessor of 228 KiB.
inline constexpr unsigned kMostResidentChunks = 8;
constexpr bool tensor_resident(unsigned chunks) noexcept { return chunks <= kMostResidentChunks; }

/// Dynamic shared memory: three values a row, then the resident queries, then the stages.
constexpr std::size_t tensor_shared(bool resident, unsigned chunks) noexcept {
  const std::size_t terms = 3 * kTensorPanel * sizeof(float);
  if (resident) return terms + (chunks + kTensorStages) * std::size_t{kPanelChunkBytes};
  return terms + 2 * kTensorStages * std::size_t{kPanelChunkBytes};
}

}  // namespace tessera::cuda
