// SPDX-License-Identifier: Apache-2.0
#include "prepare/panels.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "prepare/special_rows.hpp"

namespace tessera::prepare {
namespace {

using metrics::RowTerms;

constexpr Index kPositionsPerTask = 1024;

Index panels_of(Index rows, Index width) noexcept { return (rows + width - 1) / width; }

/// One worker's rows on their way into a panel.
class PanelPacker {
 public:
  PanelPacker(const RowReader& reader, const Narrowing& narrowing, Panels& out)
      : reader_(reader), narrowing_(narrowing), out_(out), width_(reader.kernels().panel_cols),
        stride_(reader.padded() + 16),  // not a power of two: a panel's rows would share a few cache sets
        row_(static_cast<std::size_t>(reader.padded())), narrow_(static_cast<std::size_t>(width_ * stride_)) {}

  void pack(Index panel, RowTerms& tile) {
    const Index depth = narrowing_.depth;
    const Index first = panel * width_;
    const Index count = std::min(width_, out_.count - first);
    for (Index j = 0; j < count; ++j) pack_row(first + j, narrow_.data() + j * stride_, tile);
    reader_.kernels().interleave(narrow_.data(), stride_, count, depth, width_, out_.panels.data() + panel * depth * width_);
    if (!narrowing_.dot) return;
    // Positions past the end are never nearer than anything.
    for (Index j = count; j < width_; ++j) out_.bias[first + j] = std::numeric_limits<float>::infinity();
    if (narrowing_.coarse()) std::fill_n(out_.col_residual.data() + first + count, width_ - count, 0.0f);
    if (!narrowing_.int8) return;
    std::fill_n(out_.col_scale.data() + first + count, width_ - count, 0.0f);
    std::fill_n(out_.col_start.data() + first + count, width_ - count, 0);
  }

 private:
  void pack_row(Index position, float* narrow, RowTerms& tile) {
    reader_.read(out_.row_at(position), row_.data());
    const NarrowedRow row = narrow_base_row(narrowing_, reader_.kernels(), row_.data(), reader_.padded(), narrow);
    // NaN survives every comparison, so a row without a bound is always computed exactly.
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    if (row.bypass) {
      std::fill_n(narrow, reader_.padded(), narrowing_.int8 ? 0.0f : kNan);
    } else {
      take_maxima(tile, row.terms);
    }
    if (narrowing_.coarse()) out_.col_residual[position] = row.terms.residual > 0 ? metrics::float_up(row.terms.residual) : 0.0f;
    if (narrowing_.int8) {
      out_.col_scale[position] = row.bypass ? kNan : row.step;
      out_.col_start[position] = row.bypass ? 0 : -reader_.kernels().int8_levels * row.sum;
    }
    if (narrowing_.dot) {
      out_.bias[position] = narrowing_.bound.form == metrics::BoundForm::dot_squared ? static_cast<float>(row.terms.norm2) : 0.0f;
    }
  }

  const RowReader& reader_;
  const Narrowing& narrowing_;
  Panels& out_;
  Index width_;
  Index stride_;
  support::AlignedBuffer<double> row_;
  support::AlignedBuffer<float> narrow_;
};

/// Narrows the rows of positions, in place of coordinates: boxes around narrowed rows bound what screens see.
Coordinates narrow_positions(const RowReader& reader, const Narrowing& narrowing, core::Executor& executor, Panels& out) {
  Coordinates points{.count = out.count, .d = narrowing.depth, .values = {}};
  points.values.resize(static_cast<std::size_t>(points.count * points.d));
  std::vector<RowTerms> maxima(static_cast<std::size_t>(panels_of(out.count, kPositionsPerTask)));
  std::atomic<bool> bypassed = false;
  executor.run(std::ssize(maxima), [&](Index task, int) {
    support::AlignedBuffer<double> row(static_cast<std::size_t>(reader.padded()));
    support::AlignedBuffer<float> narrow(static_cast<std::size_t>(reader.padded()));
    for (Index i = task * kPositionsPerTask; i < std::min(out.count, (task + 1) * kPositionsPerTask); ++i) {
      reader.read(out.row_at(i), row.data());
      const NarrowedRow narrowed = narrow_base_row(narrowing, reader.kernels(), row.data(), reader.padded(), narrow.data());
      if (narrowed.bypass) {
        std::fill_n(narrow.data(), points.d, std::numeric_limits<float>::quiet_NaN());
        bypassed.store(true, std::memory_order_relaxed);
      }
      take_maxima(maxima[static_cast<std::size_t>(task)], narrowed.terms);
      std::copy_n(narrow.data(), points.d, points.values.data() + i * points.d);
    }
  });
  for (const RowTerms& task : maxima) take_maxima(out.all_terms, task);
  out.bypassed = bypassed;
  return points;
}

/// Fills panels with points in the order of positions.
void fill_panels(const Coordinates& points, std::span<const std::uint32_t> order, Index width, core::Executor& executor, Panels& out) {
  const Index panels = panels_of(points.count, width);
  const Index panels_per_task = std::max<Index>(1, kPositionsPerTask / width);
  executor.run(panels_of(panels, panels_per_task), [&](Index task, int) {
    for (Index p = task * panels_per_task; p < std::min(panels, (task + 1) * panels_per_task); ++p) {
      float* panel = out.panels.data() + p * points.d * width;
      std::fill_n(panel, points.d * width, 0.0f);
      for (Index j = 0; j < std::min(width, points.count - p * width); ++j) {
        const float* row = points.row(order[static_cast<std::size_t>(p * width + j)]);
        for (Index t = 0; t < points.d; ++t) panel[t * width + j] = row[t];
      }
    }
  });
}

/// Rows of doubles in the order of positions: what is near is read together.
void keep_exact(const RowReader& reader, core::Executor& executor, Panels& out) {
  const Index stride = out.exact_stride = exact_columns(reader.rows().cols);
  if (stride == 0) return;
  out.exact = support::AlignedBuffer<double>(static_cast<std::size_t>(out.count * stride));
  executor.run(panels_of(out.count, kPositionsPerTask), [&](Index task, int) {
    support::AlignedBuffer<double> row(static_cast<std::size_t>(reader.padded()));
    for (Index i = task * kPositionsPerTask; i < std::min(out.count, (task + 1) * kPositionsPerTask); ++i) {
      reader.read(out.row_at(i), row.data());
      std::copy_n(row.data(), stride, out.exact.data() + i * stride);
    }
  });
}

/// Packs positions in k-d order, with the tree over them.
void pack_in_order(const RowReader& reader, const Narrowing& narrowing, core::Executor& executor, Panels& out) {
  const Coordinates points = narrow_positions(reader, narrowing, executor, out);
  const std::vector<std::uint32_t> order = kd_order(points, out.tile_cols, kPrunedRows, executor);
  out.tree = BlockTree(points, order, out.tile_cols, executor);
  fill_panels(points, order, reader.kernels().panel_cols, executor, out);
  std::vector<Index> rows(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rows[i] = out.row_at(order[i]);
  out.row_of_position = std::move(rows);
  keep_exact(reader, executor, out);
}

}  // namespace

void take_maxima(RowTerms& into, const RowTerms& row) noexcept {
  into.norm2 = std::max(into.norm2, row.norm2);
  into.norm = std::max(into.norm, row.norm);
  into.residual = std::max(into.residual, row.residual);
}

std::uint64_t panel_bytes(Index n, Index depth, Index panel_cols, Screen screen) noexcept {
  if (screen == Screen::double_precision) return 0;
  const Index beside = screen == Screen::int8 ? 4 : screen == Screen::bf16 ? 2 : 1;  // bias, residual, and for integers their step and start
  return static_cast<std::uint64_t>(panels_of(n, panel_cols)) * static_cast<std::uint64_t>(panel_cols) *
         static_cast<std::uint64_t>(depth + beside) * sizeof(float);
}

std::unique_ptr<Panels> pack_panels(const RowReader& reader, core::SpecialRows special, const Narrowing* narrowing,
                                    Index tile_cols, bool pruned, core::Executor& executor) {
  auto out = std::make_unique<Panels>();
  out->rows = reader.rows();
  out->row_of_position = rows_left(reader.rows().rows, special);
  out->special = std::move(special);
  out->count = reader.rows().rows - std::ssize(out->special.skipped) - std::ssize(out->special.zero) - std::ssize(out->special.denied);
  out->tile_cols = tile_cols;
  if (narrowing == nullptr) return out;

  const Index width = reader.kernels().panel_cols;
  const Index panels = panels_of(out->count, width);
  const Index panels_per_tile = tile_cols / width;
  out->panels = support::AlignedBuffer<float>(static_cast<std::size_t>(panels * width * narrowing->depth));
  if (pruned) {
    if (out->count > 0) pack_in_order(reader, *narrowing, executor, *out);
    return out;
  }
  const auto columns = static_cast<std::size_t>(panels * width);
  if (narrowing->dot) out->bias = support::AlignedBuffer<float>(columns);
  if (narrowing->coarse()) out->col_residual = support::AlignedBuffer<float>(columns);
  if (narrowing->int8) {
    out->col_scale = support::AlignedBuffer<float>(columns);
    out->col_start = support::AlignedBuffer<std::int32_t>(columns);
  }
  out->tile_terms.resize(static_cast<std::size_t>(panels_of(out->count, tile_cols)));
  const Index tiles = std::ssize(out->tile_terms);
  const Index tiles_per_task = std::max<Index>(1, kPositionsPerTask / tile_cols);
  executor.run((tiles + tiles_per_task - 1) / tiles_per_task, [&](Index task, int) {
    PanelPacker packer(reader, *narrowing, *out);
    for (Index tile = task * tiles_per_task; tile < std::min(tiles, (task + 1) * tiles_per_task); ++tile) {
      const Index last = std::min(panels, (tile + 1) * panels_per_tile);
      for (Index p = tile * panels_per_tile; p < last; ++p) packer.pack(p, out->tile_terms[static_cast<std::size_t>(tile)]);
    }
  });
  for (const RowTerms& tile : out->tile_terms) take_maxima(out->all_terms, tile);
  return out;
}

}  // namespace tessera::prepare
