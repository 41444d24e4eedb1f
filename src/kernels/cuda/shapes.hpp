// SPDX-License-Identifier: Apache-2.0
// Here: how many threads and how much shared memory each kernel is launched with. Not here: kernels, devices.
#pragma once

#include "kernels/cuda/params.hpp"
#include "tessera/rows.hpp"

namespace tessera::cuda {

/// Panels that hold so many rows.
inline Index panels_of(Index rows) noexcept { return (rows + kPanel - 1) / kPanel; }

inline constexpr unsigned kRowThreads = 128;  // of kernels with a thread a row

inline LaunchShape bounds_shape(Index rows) noexcept {
  return {.grid_x = static_cast<std::uint32_t>((rows + kRowThreads - 1) / kRowThreads), .block_x = kRowThreads};
}
inline LaunchShape screen_shape(Index column_panels, Index row_panels) noexcept {
  return {.grid_x = static_cast<std::uint32_t>(column_panels), .grid_y = static_cast<std::uint32_t>(row_panels), .block_x = kScreenThreads,
          .shared_bytes = kScreenShared};
}
/// Lists of a few dozen keep two warps busy; longer ones have passes to share.
inline LaunchShape select_shape(Index rows, Index k) noexcept {
  return {.grid_x = static_cast<std::uint32_t>(rows), .block_x = k <= 64 ? 64u : k <= 512 ? 128u : kMostSelectThreads, .shared_bytes = sizeof(SelectShared)};
}
inline LaunchShape seed_shape(Index rows) noexcept { return {.grid_x = static_cast<std::uint32_t>(rows), .block_x = 64}; }

}  // namespace tessera::cuda
