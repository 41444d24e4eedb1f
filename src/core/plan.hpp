// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/options.hpp"

namespace tessera::core {

/// What a plan needs to know of the place it will run in.
struct DeviceInfo {
  int threads = 1;
  std::int64_t l2_bytes = 1 << 20;
  Index panel_rows = 8;   // query rows that a kernel takes at once
  Index panel_cols = 48;  // base rows that a kernel takes at once
  bool has_int8 = false;  // screens in 8-bit integers
  bool has_bf16 = false;  // screens in bf16
  bool can_prune = false; // offers TopkWorker::near_to_far
  bool can_share = false; // offers PreparedBaseBackend::symmetric
  Index most_tile_rows = 256;   // measured on CPUs: no gain beyond, and coarser load balance
  Index most_tile_cols = 4096;  // more would let thresholds grow stale
  // A place with a memory of its own; 0: the host's, whose budget is the caller's.
  std::uint64_t memory = 0;
  std::uint64_t (*row_bytes)(Index k, Index d) = nullptr;  // what a query row at work takes of it
};

/// How the base is laid out; fixed when it is prepared.
struct BasePlan {
  Screen screen = Screen::fp32_dot;  // never automatic or fp32
  Index depth = 0;                   // words of a packed row (doubles: none)
  Index tile_cols = 0;               // base rows in a tile, a multiple of panel_cols
  Index segment_rows = 0;            // base rows prepared at once
  Index segments = 0;
  bool pruned = false;               // rows are reordered so that tiles are compact, and far tiles are never visited
};

/// How a set of queries is taken through it.
struct QueryPlan {
  Schedule schedule = Schedule::by_query;  // never automatic
  Index tile_rows = 0;                     // queries in a tile
  Index splits = 1;                        // parts of a segment's columns that are separate tasks
  bool symmetric = false;                  // the queries are the base: each tile serves both of its sides
};

}  // namespace tessera::core
