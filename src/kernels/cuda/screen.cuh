// SPDX-License-Identifier: Apache-2.0
// Kernel A: scores of a panel of query rows against a panel of base rows, in registers; what may belong to an answer is appended to its
// row's hits, all else is dropped where it stands. Not here: what becomes of hits (select.cuh).
#pragma once

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/hits.cuh"
#include "kernels/cuda/params.hpp"
#include "kernels/cuda/simt.hpp"

namespace tessera::cuda {

// --- brackets and thresholds --------------------------------------------------------------------------------------------

/// One thread a row.
TESSERA_DEVICE void bound_rows(const BoundParams& p) {
  const unsigned r = simt::block_x() * simt::threads() + simt::thread();
  if (r >= p.count) return;
  const RowState row = p.arrays.rows[r];
  constexpr float kInfinity = metrics::bound_detail::kInfinity;
  if (row.owed && !p.owed_only) p.arrays.rows[r].owed = false;
  float threshold = -kInfinity;
  if (row.kind != RowKind::unsearched && (row.owed || !p.owed_only)) {
    const metrics::PairBound bound(p.context, p.arrays.terms[r], p.tile);
    p.arrays.bounds[r] = bound;
    threshold = row.kind == RowKind::bypass ? kInfinity : bound.threshold(static_cast<double>(row.tau));
  }
  p.arrays.thresholds[r] = threshold;
}

// --- the tile -----------------------------------------------------------------------------------------------------------

/// A thread's eight rows or columns among a panel's: two runs of four, so that a warp's reads of shared memory meet no bank twice.
TESSERA_DEVICE unsigned member(unsigned at, unsigned i) { return i < 4 ? 4 * at + i : kPanel / 2 + 4 * at + (i - 4); }

struct Fragment {
  float v[8];
  TESSERA_DEVICE void load(const float* words, unsigned at) {
    const auto low = *reinterpret_cast<const simt::Float4*>(words + 4 * at);
    const auto high = *reinterpret_cast<const simt::Float4*>(words + kPanel / 2 + 4 * at);
    v[0] = low.x, v[1] = low.y, v[2] = low.z, v[3] = low.w;
    v[4] = high.x, v[5] = high.y, v[6] = high.z, v[7] = high.w;
  }
};

/// Brings stage `stage` of both panels on its way: 16 bytes a thread and operand.
TESSERA_DEVICE void load_stage(const float* queries, const float* base, unsigned depth, unsigned stage, float* shared) {
  static_assert(kTileWords == 4 * kScreenThreads);
  const unsigned word = 4 * simt::thread();
  if (stage * kStageDepth + word / kPanel < depth) {
    float* slot = shared + (stage % kStages) * 2 * kTileWords + word;
    simt::copy_async16(slot, queries + static_cast<std::size_t>(stage) * kTileWords + word);
    simt::copy_async16(slot + kTileWords, base + static_cast<std::size_t>(stage) * kTileWords + word);
  }
  simt::commit_async();  // an empty group, too: groups count stages
}

template <class Element>
TESSERA_DEVICE void add_word(const float* words, unsigned row_at, unsigned col_at, float (&acc)[8][8]) {
  Fragment x;
  Fragment y;
  x.load(words, row_at);
  y.load(words + kTileWords, col_at);
TESSERA_UNROLL
  for (int i = 0; i < 8; ++i) {
TESSERA_UNROLL
    for (int j = 0; j < 8; ++j) acc[i][j] = Element::step(acc[i][j], x.v[i], y.v[j]);
  }
}

/// Thread block (x, y): row panel y against column panel first_panel + x. kScreenThreads threads, kScreenShared bytes.
///
/// cost     depth * kPanel^2 steps; 2 * depth * kPanel * 4 bytes come in, survivors go out.
template <class Element, bool Dot>
TESSERA_DEVICE void screen_panels(const ScreenParams& p) {
  auto* stages = reinterpret_cast<float*>(simt::shared_memory());
  float* thresholds = stages + 2 * kStages * kTileWords;
  constexpr float kInfinity = metrics::bound_detail::kInfinity;
  const unsigned row_panel = simt::block_y();
  const unsigned panel = p.first_panel + simt::block_x();
  bool open = false;
  if (simt::thread() < kPanel) {
    const float t = p.arrays.thresholds[row_panel * kPanel + simt::thread()];
    thresholds[simt::thread()] = t;
    open = t > -kInfinity;
  }
  if (!simt::sync_or(open)) return;

  const std::size_t panel_words = static_cast<std::size_t>(p.depth) * kPanel;
  const float* queries = p.queries + row_panel * panel_words;
  const float* base = p.base + panel * panel_words;
  const unsigned row_at = simt::thread() / 16;
  const unsigned col_at = simt::thread() % 16;
  const unsigned count = (p.depth + kStageDepth - 1) / kStageDepth;
  float acc[8][8] = {};
TESSERA_UNROLL
  for (unsigned s = 0; s < kStages - 1; ++s) load_stage(queries, base, p.depth, s, stages);
  for (unsigned s = 0; s < count; ++s) {
    simt::wait_async<kStages - 2>();
    simt::sync();  // stage s has arrived for all, and all are through with stage s - 1, whose slot comes next
    load_stage(queries, base, p.depth, s + kStages - 1, stages);
    const float* words = stages + (s % kStages) * 2 * kTileWords;
    if ((s + 1) * kStageDepth <= p.depth) {
TESSERA_UNROLL
      for (unsigned t = 0; t < kStageDepth; ++t) add_word<Element>(words + t * kPanel, row_at, col_at, acc);
    } else {
      for (unsigned t = 0; t < p.depth % kStageDepth; ++t) add_word<Element>(words + t * kPanel, row_at, col_at, acc);
    }
  }

  const unsigned first = panel * kPanel;
  float bias[8];
TESSERA_UNROLL
  for (unsigned j = 0; j < 8; ++j) bias[j] = Dot ? p.bias[first + member(col_at, j)] : 0.0f;
TESSERA_UNROLL
  for (unsigned i = 0; i < 8; ++i) {
    const float t = thresholds[member(row_at, i)];
    unsigned hits = 0;
TESSERA_UNROLL
    for (unsigned j = 0; j < 8; ++j) {
      // factor is 1 or 2: the product is exact.
      if (Dot) acc[i][j] = simt::sub(bias[j], simt::mul(p.factor, acc[i][j]));
      // "Not greater": NaN survives.
      if (!(acc[i][j] > t)) hits |= 1u << j;
    }
    if (hits == 0 || !(t > -kInfinity)) continue;
    append_hits<8>(p.arrays, p.columns, row_panel * kPanel + member(row_at, i), hits, [&](unsigned j) { return first + member(col_at, j); },
                   [&](unsigned j) { return acc[i][j]; });
  }
}

}  // namespace tessera::cuda
