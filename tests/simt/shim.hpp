// SPDX-License-Identifier: Apache-2.0
// Here: a block of threads on the host: one fiber a thread, run in an order drawn by chance, with the barriers, warps, atomics and
// asynchronous copies that kernels/cuda/simt.hpp declares. What a GPU leaves undefined is an error here: a barrier that not all reach, a
// warp exchange whose lanes do not agree, shared memory read before it was written (it holds no zeros), a copy used before it arrived.
// Not here: memory and streams (shim_device.hpp). What this cannot show: weak ordering of memory, occupancy, speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

namespace tessera::simt_shim {

/// A kernel that did what a GPU does not define.
class SimtError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A place in a kernel's source: FILE:LINE.
using Site = std::string;

/// What tests do to kernels on purpose.
struct Faults {
  std::optional<Site> barrier{};  // sync() and sync_or() at this place do not wait
  std::optional<Site> lanes{};    // exchanges at this place leave the lowest lane out of their mask
  std::optional<Site> arrival{};  // wait_async() does not wait; any place will do: its callers do not say where
};

struct Settings {
  std::uint64_t seed = 1;
  Faults faults{};
};
/// For all threads, from the next block on.
void configure(const Settings& settings);

/// Places of barriers and of warp exchanges that were reached since the last call.
struct Reached {
  std::set<Site> barriers;
  std::set<Site> exchanges;
};
Reached take_reached();

struct Grid {
  unsigned grid_x = 1;
  unsigned grid_y = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
};

/// Runs kernel(params) on every thread of every block, blocks in an order drawn by chance.
/// throws   SimtError.
void run_grid(const Grid& grid, void (*kernel)(const void*), const void* params);

}  // namespace tessera::simt_shim
