// SPDX-License-Identifier: Apache-2.0
// Kernel D: kernel A with tensor cores: sums of products of bf16 or of 8-bit integers, scores, and the filter, all in registers; no tile leaves
// the chip. The same hits. Not here: the instructions (mma.hpp), how scores bound distances (metrics/bound).
#pragma once

#include "kernels/cuda/hits.cuh"
#include "kernels/cuda/mma.hpp"
#include "kernels/cuda/tensor_params.hpp"

namespace tessera::cuda {

struct Bf16Tile {
  using Sum = float;
  static constexpr bool kScaled = false;
  TESSERA_DEVICE static float value(float sum) { return sum; }
  TESSERA_DEVICE static float kept(float score) { return score; }
  TESSERA_DEVICE static float score(float kept) { return kept; }
};

struct Int8Tile {
  using Sum = int;
  static constexpr bool kScaled = true;
  TESSERA_DEVICE static float value(int sum) { return static_cast<float>(sum); }  // to nearest
  // A score takes the place of its sum.
  TESSERA_DEVICE static int kept(float score) { return static_cast<int>(simt::bits_of(score)); }
  TESSERA_DEVICE static float score(int kept) { return simt::float_of(static_cast<unsigned>(kept)); }
};

inline constexpr unsigned kWarpRows = 64;
inline constexpr unsigned kRowTiles = kWarpRows / 16;  // fragments of a warp: 16 rows by 8 columns each
inline constexpr unsigned kColTiles = kWarpRows / 8;

/// Where this thread stands in its block's tile and in its warp's fragments.
struct TensorPlace {
  unsigned row0 = simt::warp() / 2 * kWarpRows;
  unsigned col0 = simt::warp() % 2 * kWarpRows;
  unsigned group = simt::lane() / 4;
  unsigned pair = simt::lane() % 4 * 2;
  TESSERA_DEVICE unsigned row(unsigned tile, unsigned half) const { return row0 + 16 * tile + group + 8 * half; }
  TESSERA_DEVICE unsigned col(unsigned tile, unsigned j) const { return col0 + 8 * tile + pair + j; }
};

/// A block's shared memory and where it reads.
struct TensorBlock {
  float* thresholds;  // [kTensorPanel], then as many row_factor and row_reach
  unsigned char* resident;
  unsigned char* stages;
  const unsigned char* queries;
  const unsigned char* base;
  unsigned chunks;
  unsigned count;  // stages in all: a chunk of a column panel each
};

TESSERA_DEVICE void copy_chunk(unsigned char* shared, const unsigned char* global) {
TESSERA_UNROLL
  for (unsigned i = 0; i < kPanelChunkBytes / kPieceBytes / kTensorThreads; ++i) {
    const unsigned at = (i * kTensorThreads + simt::thread()) * kPieceBytes;
    simt::copy_async16(shared + at, global + at);
  }
}

/// Brings stage `stage` on its way, its chunk being `chunk`: that of the base, and that of the queries unless they are there already.
template <bool Resident>
TESSERA_DEVICE void load_tensor_stage(const TensorBlock& b, unsigned stage, unsigned chunk) {
  if (stage < b.count) {
    const std::size_t offset = static_cast<std::size_t>(chunk) * kPanelChunkBytes;
    unsigned char* slot = b.stages + stage % kTensorStages * (Resident ? 1 : 2) * kPanelChunkBytes;
    // Panels follow one another in memory, so stages do.
    copy_chunk(slot, b.base + static_cast<std::size_t>(stage) * kPanelChunkBytes);
    if (!Resident) copy_chunk(slot + kPanelChunkBytes, b.queries + offset);
    if (Resident && stage < b.chunks) copy_chunk(b.resident + offset, b.queries + offset);
  }
  simt::commit_async();  // an empty group, too: groups count stages
}

/// Adds a chunk's products: acc [row tile][column tile] are the warp's fragments.
template <class Sum>
TESSERA_DEVICE void multiply_chunk(const unsigned char* queries, const unsigned char* base, const TensorPlace& place, Sum (&acc)[kRowTiles][kColTiles][4]) {
  const unsigned lane = simt::lane();
  const unsigned query_row = place.row0 + lane % 16;
  const unsigned base_row = place.col0 + lane % 8 + lane / 16 * 8;
TESSERA_UNROLL
  for (unsigned k = 0; k < kPieces; k += 2) {
    unsigned a[kRowTiles][4];
TESSERA_UNROLL
    for (unsigned m = 0; m < kRowTiles; ++m) simt::load_matrices(a[m], queries + tensor_piece(query_row + 16 * m, k + lane / 16));
TESSERA_UNROLL
    for (unsigned n = 0; n < kColTiles; n += 2) {
      unsigned b[4];  // of two column tiles
      simt::load_matrices(b, base + tensor_piece(base_row + 8 * n, k + lane / 8 % 2));
      const unsigned low[2] = {b[0], b[1]};
      const unsigned high[2] = {b[2], b[3]};
TESSERA_UNROLL
      for (unsigned m = 0; m < kRowTiles; ++m) {
        simt::multiply(acc[m][n], a[m], low);
        simt::multiply(acc[m][n + 1], a[m], high);
      }
    }
  }
}

/// Scores of a finished tile against its thresholds. acc is spent.
template <class Tile>
TESSERA_DEVICE void filter_tile(const TensorParams& p, const TensorBlock& b, unsigned panel, const TensorPlace& place,
                                typename Tile::Sum (&acc)[kRowTiles][kColTiles][4]) {
  constexpr float kInfinity = metrics::bound_detail::kInfinity;
  const unsigned first = panel * kTensorPanel;
  unsigned open[kRowTiles][2] = {};
TESSERA_UNROLL
  for (unsigned n = 0; n < kColTiles; ++n) {
TESSERA_UNROLL
    for (unsigned j = 0; j < 2; ++j) {
      const unsigned col = first + place.col(n, j);
      const float bias = p.bias[col];
      const float residual = p.col_residual[col];
      const float scale = Tile::kScaled ? p.col_scale[col] : 1.0f;
TESSERA_UNROLL
      for (unsigned m = 0; m < kRowTiles; ++m) {
TESSERA_UNROLL
        for (unsigned half = 0; half < 2; ++half) {
          const float* terms = b.thresholds + place.row(m, half);
          typename Tile::Sum& sum = acc[m][n][2 * half + j];
          const float product = Tile::kScaled ? simt::mul(Tile::value(sum), scale) : Tile::value(sum);
          const float score = simt::fma(-terms[kTensorPanel], product, simt::fma(-terms[2 * kTensorPanel], residual, bias));
          sum = Tile::kept(score);
          // "Not greater": NaN survives.
          if (!(score > terms[0])) open[m][half] |= 1u << (2 * n + j);
        }
      }
    }
  }
TESSERA_UNROLL
  for (unsigned m = 0; m < kRowTiles; ++m) {
TESSERA_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned row = place.row(m, half);
      if (open[m][half] == 0 || !(b.thresholds[row] > -kInfinity)) continue;
      // Bit 2n + j: column j of column tile n.
      append_hits<2 * kColTiles>(p.arrays, p.columns, simt::block_y() * kTensorPanel + row, open[m][half], [&](unsigned i) { return first + place.col(i / 2, i % 2); },
                                 [&](unsigned i) { return Tile::score(acc[m][i / 2][2 * half + i % 2]); });
    }
  }
}

/// Thread block (x, y): row panel y against `span` column panels from first_panel + x * span on. kTensorThreads threads, tensor_shared() bytes.
///
/// cost     kTensorPanel^2 products a column panel and column of the rows; (Resident ? 1 : 2) * chunks * 8 KiB come in, survivors go out.
template <class Tile, bool Resident>
TESSERA_DEVICE void screen_tensor(const TensorParams& p) {
  static_assert(kTensorThreads == kTensorPanel);
  constexpr float kInfinity = metrics::bound_detail::kInfinity;
  auto* terms = reinterpret_cast<float*>(simt::shared_memory());
  const unsigned first = p.first_panel + simt::block_x() * p.span;
  const unsigned last = first + p.span < p.last_panel ? first + p.span : p.last_panel;
  const std::size_t panel_bytes = static_cast<std::size_t>(p.chunks) * kPanelChunkBytes;
  const unsigned row = simt::block_y() * kTensorPanel + simt::thread();
  const float threshold = p.arrays.thresholds[row];
  terms[simt::thread()] = threshold;
  terms[kTensorPanel + simt::thread()] = p.row_factor[row];
  terms[2 * kTensorPanel + simt::thread()] = p.row_reach[row];
  if (!simt::sync_or(threshold > -kInfinity) || first >= last) return;

  TensorBlock b;
  b.thresholds = terms;
  b.resident = reinterpret_cast<unsigned char*>(terms + 3 * kTensorPanel);
  b.stages = b.resident + (Resident ? panel_bytes : 0);
  b.queries = p.queries + simt::block_y() * panel_bytes;
  b.base = p.base + first * panel_bytes;
  b.chunks = p.chunks;
  b.count = (last - first) * p.chunks;

  const TensorPlace place;
  typename Tile::Sum acc[kRowTiles][kColTiles][4] = {};
  unsigned coming = 0;  // chunk of the stage to load next
  unsigned ahead = 0;
  for (; ahead < kTensorStages - 1; ++ahead) {
    load_tensor_stage<Resident>(b, ahead, coming);
    coming = coming + 1 == p.chunks ? 0 : coming + 1;
  }
  unsigned chunk = 0;
  unsigned panel = first;
  for (unsigned s = 0; s < b.count; ++s) {
    simt::wait_async<kTensorStages - 2>();
    simt::sync();  // stage s has arrived for all, and all are through with stage s - 1, whose slot comes next
    load_tensor_stage<Resident>(b, ahead, coming);
    ++ahead;
    coming = coming + 1 == p.chunks ? 0 : coming + 1;
    const unsigned char* slot = b.stages + s % kTensorStages * (Resident ? 1 : 2) * kPanelChunkBytes;
    const unsigned char* queries = Resident ? b.resident + static_cast<std::size_t>(chunk) * kPanelChunkBytes : slot + kPanelChunkBytes;
    multiply_chunk(queries, slot, place, acc);
    if (++chunk < p.chunks) continue;
    chunk = 0;
    filter_tile<Tile>(p, b, panel++, place, acc);
TESSERA_UNROLL
    for (unsigned m = 0; m < kRowTiles; ++m) {
TESSERA_UNROLL
      for (unsigned n = 0; n < kColTiles; ++n) {
TESSERA_UNROLL
        for (unsigned i = 0; i < 4; ++i) acc[m][n][i] = 0;
      }
    }
  }
}

}  // namespace tessera::cuda
