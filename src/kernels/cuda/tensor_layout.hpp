// SPDX-License-Identifier: Apache-2.0
// Here: how rows lie in the panels that tensor cores read, for those who pack them and for the kernel. Not here: what the bytes mean.
#pragma once

#include <cstddef>

#include "support/host_device.hpp"

namespace tessera::cuda {

inline constexpr unsigned kTensorPanel = 128;     // rows of a panel
inline constexpr unsigned kChunkBytes = 64;       // of a row that one stage holds: 32 bf16, or 64 integers
inline constexpr unsigned kPieceBytes = 16;       // what is copied at once, and a row of a fragment's matrix
inline constexpr unsigned kPieces = kChunkBytes / kPieceBytes;
inline constexpr unsigned kPanelChunkBytes = kTensorPanel * kChunkBytes;

/// Chunks of a row of `bytes` bytes; rows are filled up with zeros.
constexpr std::size_t tensor_chunks(std::size_t bytes) noexcept { return (bytes + kChunkBytes - 1) / kChunkBytes; }

/// Where piece `piece` of row `row` lies within a panel's chunk [kTensorPanel, kPieces, kPieceBytes]. Pieces trade places from two rows to the
/// next two, so that the eight rows of a matrix lie in different banks of shared memory; panels lie so in global memory, too, and are
/// copied as they are.
TESSERA_HOST_DEVICE constexpr unsigned tensor_piece(unsigned row, unsigned piece) noexcept {
  return (row * kPieces + (piece ^ (row >> 1 & (kPieces - 1)))) * kPieceBytes;
}

}  // namespace tessera::cuda
