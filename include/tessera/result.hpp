// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/rows.hpp"

namespace tessera {

/// How a call was carried out: for logs, JSON and benchmarks. Nothing here changes an answer.
struct Report {
  std::string backend;    // "cpu"
  std::string isa;        // "scalar", "avx2", "avx512"
  int threads = 0;
  std::string schedule;   // "by-query", "by-base"
  std::string screen;     // "fp32-dot", "fp32-direct", "double"
  Index tile_rows = 0;    // queries per tile
  Index tile_cols = 0;    // base rows per tile
  Index segments = 0;     // parts the base was streamed in
  Index splits = 0;       // parts of the base worked on at once (by-base)
  bool pruned = false;    // compact tiles, far ones never visited
  bool symmetric = false; // each pair of rows computed once, for both

  double seconds_prepare = 0;       // looking at rows, and packing them; the queries' share, done between tiles, is a mean over threads
  double seconds_pack = 0;          // of it: narrowing and packing rows of base and queries
  double seconds_search = 0;        // the rest of the call
  double pairs = 0;                 // query-base pairs answered for
  std::int64_t survivors = 0;       // pairs the screen could not dismiss
  std::int64_t refined = 0;         // pairs computed in double
  double pruned_fraction = 0;       // pairs dismissed a tile at a time
  Index skipped_base = 0;           // non-finite base rows left out (NanPolicy::skip)
  Index denied_base = 0;            // base rows that the filter left out
  Index skipped_queries = 0;        // non-finite queries answered with padding
  double half_cell = 0;             // half the shortest lattice vector; +inf when nothing repeats (periodic)
  Index beyond_half_cell = 0;       // queries with a neighbour that far or farther: another image of it may be nearer than the k-th
  Index zero_base = 0;              // all-zero base rows (cosine)
  Index zero_queries = 0;           // all-zero queries (cosine)
};

/// The k nearest base rows of every query, ascending by (key, id).
struct Neighbours {
  Index rows = 0;                     // nq
  Index k = 0;
  std::vector<std::int64_t> ids;      // [nq, k]; -1 past the candidates
  std::vector<float> distances;       // [nq, k]; +inf there (-inf for inner_product); empty when float64 was asked
  std::vector<double> distances64;    // [nq, k]; only when float64 was asked
  std::vector<std::int32_t> shifts;   // [nq, k, 3]; only when asked: S, so that the difference is y - x + S * cell; 0 in padding
  Report report;
};

}  // namespace tessera
