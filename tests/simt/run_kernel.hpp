// SPDX-License-Identifier: Apache-2.0
// Here: single kernels run over plain vectors, for tests that look at what a kernel writes. Not here: the backend (backend_test.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/cuda/params.hpp"
#include "kernels/cuda/shapes.hpp"
#include "simt/shim.hpp"
#include "simt/shim_device.hpp"

namespace tessera::simt_shim {

inline void run_kernel(cuda::KernelId kernel, const cuda::LaunchShape& shape, const void* params) {
  const auto device = make_shim_device();
  const auto stream = device->stream();
  stream->launch(kernel, shape, params);
  stream->wait();
}

/// A hit as it is compared: row, position, score.
using SeenHit = std::tuple<std::uint32_t, std::uint32_t, float>;

/// Narrowed rows against narrowed rows: what kernel A sees.
struct ScreenProblem {
  unsigned rows;       // whole panels
  unsigned columns;
  unsigned depth;
  std::vector<float> queries;  // [rows, depth]
  std::vector<float> base;     // [columns, depth]
  std::vector<float> bias;     // [columns]
  std::vector<float> thresholds;     // [rows]
  std::vector<std::uint32_t> own;    // [rows]

  ScreenProblem(unsigned row_panels, unsigned column_count, unsigned words, std::uint64_t seed)
      : rows(row_panels * cuda::kPanel), columns(column_count), depth(words), queries(std::size_t{rows} * words), base(std::size_t{column_count} * words),
        bias(column_count), thresholds(rows, 0.0f), own(rows, cuda::kNoPosition) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    for (float& v : queries) v = normal(random);
    for (float& v : base) v = normal(random);
    for (float& v : bias) v = normal(random);
  }
};

/// Rows interleaved into panels, filled up with zeros.
inline std::vector<float> panels_of(const std::vector<float>& rows, unsigned count, unsigned depth) {
  const unsigned panels = (count + cuda::kPanel - 1) / cuda::kPanel;
  std::vector<float> out(std::size_t{panels} * depth * cuda::kPanel);
  for (unsigned i = 0; i < count; ++i) {
    for (unsigned t = 0; t < depth; ++t) out[(std::size_t{i / cuda::kPanel} * depth + t) * cuda::kPanel + i % cuda::kPanel] = rows[std::size_t{i} * depth + t];
  }
  return out;
}

struct ScreenOutcome {
  std::vector<SeenHit> hits;           // sorted
  std::vector<std::uint32_t> counts;   // [rows]
};

inline ScreenOutcome run_screen(cuda::KernelId kernel, const ScreenProblem& p, float factor, unsigned capacity) {
  const unsigned column_panels = (p.columns + cuda::kPanel - 1) / cuda::kPanel;
  // Kernels copy 16 bytes at a time: panels must lie so.
  struct alignas(64) Line {
    float v[16];
  };
  const auto aligned = [](const std::vector<float>& values) {
    std::vector<Line> lines((values.size() + 15) / 16);
    std::copy(values.begin(), values.end(), lines.data()->v);
    return lines;
  };
  const auto queries = aligned(panels_of(p.queries, p.rows, p.depth));
  const auto base = aligned(panels_of(p.base, p.columns, p.depth));
  std::vector<float> bias = p.bias;
  bias.resize(std::size_t{column_panels} * cuda::kPanel, metrics::bound_detail::kInfinity);
  std::vector<cuda::RowState> states(p.rows);
  for (unsigned r = 0; r < p.rows; ++r) {
    states[r] = {.tau = 0, .kind = cuda::RowKind::searched, .owed = false, .own_position = p.own[r], .pending = 0, .best = 0};
  }
  ScreenOutcome out{{}, std::vector<std::uint32_t>(p.rows)};
  std::vector<cuda::Hit> hits(std::size_t{p.rows} * capacity);
  std::vector<float> thresholds = p.thresholds;
  cuda::RowArrays arrays{};
  arrays.rows = states.data();
  arrays.thresholds = thresholds.data();
  arrays.hit_counts = out.counts.data();
  arrays.hits = hits.data();
  arrays.hit_capacity = capacity;
  const cuda::ScreenParams params{.queries = queries.data()->v, .base = base.data()->v, .bias = bias.data(), .arrays = arrays,
                                  .first_panel = 0, .columns = p.columns, .depth = p.depth, .factor = factor};
  run_kernel(kernel, cuda::screen_shape(column_panels, p.rows / cuda::kPanel), &params);
  for (unsigned r = 0; r < p.rows; ++r) {
    for (unsigned i = 0; i < std::min(out.counts[r], capacity); ++i) {
      const cuda::Hit& hit = hits[std::size_t{r} * capacity + i];
      out.hits.emplace_back(r, hit.position, hit.score);
    }
  }
  std::ranges::sort(out.hits);
  return out;
}

}  // namespace tessera::simt_shim
