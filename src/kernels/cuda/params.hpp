// SPDX-License-Identifier: Apache-2.0
// Here: the kernels by number, and what each takes: one struct by value, pointers into the device's memory. Not here: kernels (*.cuh), the
// device (device.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device.hpp"
#include "metrics/bound.hpp"
#include "metrics/key_form.hpp"

namespace tessera::cuda {

enum class KernelId : std::uint16_t {
#define TESSERA_CUDA_KERNEL(id, Params, threads, blocks, ...) id,
#include "kernels/cuda/kernels.def"
#undef TESSERA_CUDA_KERNEL
};
#define TESSERA_CUDA_KERNEL(id, Params, threads, blocks, ...) +1
inline constexpr int kKernelCount = 0
#include "kernels/cuda/kernels.def"
    ;
#undef TESSERA_CUDA_KERNEL

/// Rows of a panel, of queries and of base alike: a thread block's tile is a panel by a panel.
inline constexpr unsigned kPanel = 128;
inline constexpr unsigned kScreenThreads = 256;
inline constexpr unsigned kStageDepth = 8;  // words of every row that one stage of the pipeline holds
inline constexpr unsigned kStages = 4;

/// A pair that a screen could not dismiss.
struct Hit {
  float score;
  std::uint32_t position;
};

/// A pair that may belong to an answer: its z lies within [lower, upper].
struct Pending {
  float lower;
  float upper;
  std::uint32_t position;
};

/// As core::Candidate.
struct Candidate {
  double key;
  std::int64_t id;
};

enum class RowKind : std::uint8_t {
  unsearched,  // nothing may be appended: skipped, zero, or filling of a panel
  searched,
  bypass       // has no bound: every pair survives
};

inline constexpr std::uint32_t kNoPosition = 0xffffffffu;

/// One query row on the device.
struct RowState {
  float tau;                   // z of a proven k-th best or above
  RowKind kind;
  bool owed;                   // its hits did not fit: the columns must be screened again
  std::uint32_t own_position;  // of the base row that it must not meet, or kNoPosition
  std::uint32_t pending;       // pairs
  std::uint32_t best;          // exact candidates
};

/// Where a block of query rows keeps its states; rows are filled up to whole panels.
struct RowArrays {
  RowState* rows;                    // [rows]
  metrics::RowTerms* terms;          // [rows]
  metrics::PairBound* bounds;        // [rows], against the columns at hand
  float* thresholds;                 // [rows]
  std::uint32_t* hit_counts;         // [rows]; may pass hit_capacity
  Hit* hits;                         // [rows, hit_capacity]
  Pending* pending;                  // [rows, pending_capacity]
  Candidate* best;                   // [rows, k + batch]: the best so far, then room for a batch
  std::uint32_t hit_capacity;
  std::uint32_t pending_capacity;    // trigger + hit_capacity
  std::uint32_t trigger;             // pending pairs that a row may keep
  std::uint32_t k;
  std::uint32_t batch;               // pairs that are computed exactly at a time
};

/// Brackets and thresholds of rows against a tile's columns. One thread a row.
struct BoundParams {
  RowArrays arrays;
  metrics::BoundContext context;
  metrics::RowTerms tile;
  std::uint32_t count;  // rows, whole panels
  bool owed_only;       // rows that owe nothing are left out
};

/// Kernel A: one block of threads a pair of panels, grid [column panels, row panels].
struct ScreenParams {
  const float* queries;  // [row panels, depth, kPanel]
  const float* base;     // [column panels, depth, kPanel]
  const float* bias;     // [columns]; dot forms
  RowArrays arrays;
  std::uint32_t first_panel;  // of columns
  std::uint32_t columns;      // positions there are
  std::uint32_t depth;
  float factor;               // dot form: score = bias - factor * <query, base>
};

inline constexpr unsigned kTileWords = kStageDepth * kPanel;  // of one operand in one stage
inline constexpr std::size_t kScreenShared = (std::size_t{2} * kStages * kTileWords + kPanel) * sizeof(float);

/// How base rows are stored for exact sums, and what they are summed to.
struct RefineRows {
  const double* queries;         // [rows, query_stride]
  const float* base_f32;         // [positions, d], or null
  const double* base_f64;        // likewise
  const std::uint32_t* row_of_position;  // null: the position itself
  std::int64_t first_id;
  std::uint32_t d;
  std::uint32_t query_stride;
  metrics::Element element;
  metrics::KeyScale keys;
};

/// First candidates of rows. One block of threads a row.
struct SeedParams {
  RowArrays arrays;
  const Candidate* lists;  // [rows, k]
};

inline constexpr unsigned kMostSelectThreads = 256;
inline constexpr unsigned kSortedInShared = 512;  // longer lists are sorted where they lie

/// What a block of kernel B shares.
struct SelectShared {
  Candidate sorting[kSortedInShared];
  unsigned counts[256];
  unsigned warp_sums[kMostSelectThreads / 32];
  unsigned digit;
  unsigned rank;
  unsigned equal;
};

/// Kernel B: one block of threads a row.
struct SelectParams {
  RowArrays arrays;
  RefineRows refine;
  std::uint32_t every_first;   // the columns [every_first, every_last) count as hits of every row, without a bracket
  std::uint32_t every_last;
  bool finish;                 // compute all that is left, sort, and write `lists`
  Candidate* lists;            // [rows, k], ascending, padded
  std::uint32_t* any_owed;     // one word, set where a row owes
  std::uint64_t* counts;       // [2]: survivors, refined
};

}  // namespace tessera::cuda
