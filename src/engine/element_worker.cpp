// SPDX-License-Identifier: Apache-2.0
// One worker of the element metrics' evaluator: kernels over blocks of columns, then the values they could not vouch for.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/element_values.hpp"
#include "engine/image_values.hpp"
#include "engine/transpose.hpp"
#include "engine/value_rounding.hpp"
#include "prepare/special_rows.hpp"
#include "support/float16.hpp"

namespace tessera::engine {
namespace {

using core::Range;
using core::Tile;
using kernels::ValueCall;
using kernels::ValueForm;
using support::AlignedBuffer;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A block of float or double values, somewhere in a tile.
template <class T>
struct Block {
  T* values;
  Index stride;
  Range rows;  // of the matrix
  Range cols;

  T* row(Index i) const noexcept { return values + (i - rows.first) * stride; }
  T& at(Index i, Index j) const noexcept { return row(i)[j - cols.first]; }
};

class ElementWorker final : public core::ValuesWorker {
 public:
  ElementWorker(const ElementInputs& in, Index tile_rows)
      : in_(in), reader_(in.kernels, in.problem.x, in.traits.unit_rows), pairs_(in, tile_rows, in.block_cols),
        height_(in.kernels.panel_rows), width_(in.kernels.panel_cols) {
    if (in.problem.dtype == DType::f16 && !in.problem.exact) floats_ = AlignedBuffer<float>(static_cast<std::size_t>(tile_rows * in.block_cols));
    if (!in.packs()) {
      if (!in.problem.canonical()) images_ = std::make_unique<ImageValues>(in);
      return;
    }
    const Index d = in.problem.x.cols;
    rows_ = std::make_unique<prepare::PackedValueRows>(tile_rows, d, height_);
    alone_ = AlignedBuffer<float>(static_cast<std::size_t>(d));
    const Index block_panels = in.block_cols / width_ + 2;
    doubtful_.resize(static_cast<std::size_t>(block_panels * height_));
    scratch_ = AlignedBuffer<float>(static_cast<std::size_t>(height_ * width_));
    if (in.segment.by_workers) own_ = std::make_unique<PackedColumns>(PackedColumns{{}, prepare::PackedValueRows(in.problem.cols(), d, width_)});
  }

  void evaluate(const Tile& tile, std::byte* out) override {
    place(tile);
    // A tile on the diagonal of a self matrix: what lies below is what lies above. float16 is rounded row by row, all of it.
    halved_ = in_.problem.self && in_.problem.dtype != DType::f16 && tile.rows.first == tile.cols.first && tile.rows.last == tile.cols.last;
    for (Index c = tile.cols.first; c < tile.cols.last; c += in_.block_cols) {
      const Range cols{c, std::min(tile.cols.last, c + in_.block_cols)};
      pairs_.place_cols({batch_ * in_.problem.cols() + cols.first, batch_ * in_.problem.cols() + cols.last});
      block(tile, cols, out);
    }
    if (!halved_) return;
    if (in_.problem.dtype == DType::f64) {
      mirror_upper(reinterpret_cast<double*>(out), tile.rows.size());
    } else {
      mirror_upper(reinterpret_cast<float*>(out), tile.rows.size());
    }
  }

  core::ValuesCounts counts() const noexcept override { return counts_; }

 private:
  /// Takes up the tile's rows, unless they are the last tile's.
  void place(const Tile& tile) {
    if (tile.batch == batch_ && tile.rows.first == at_.first && tile.rows.last == at_.last) return;
    batch_ = tile.batch;
    at_ = tile.rows;
    const Index first = batch_ * in_.problem.rows();
    pairs_.place_rows({first + at_.first, first + at_.last});
    if (!in_.packs()) return;
    const Index counted = std::clamp(in_.problem.length(batch_, in_.problem.rows()), at_.first, at_.last) - at_.first;
    const Index panels = (at_.size() + height_ - 1) / height_;
    if (own_) pack_columns();
    const PackedColumns& packed = columns();
    if (in_.problem.self && at_.first >= packed.cols.first && at_.first + counted <= packed.cols.last) {
      // The rows are packed already, as columns.
      rows_->copy_rows(packed.rows, at_.first - packed.cols.first, counted);
      rows_->poison(counted, panels * height_);
      return;
    }
    prepare::ValuePacker packer(reader_, narrowing(), height_);
    for (Index p = 0; p < panels; ++p) {
      packer.pack(first + at_.first + p * height_, std::clamp<Index>(counted - p * height_, 0, height_), *rows_, p);
    }
  }

  const prepare::ValueNarrowing& narrowing() const { return in_.narrowings[static_cast<std::size_t>(batch_)]; }
  const PackedColumns& columns() const { return own_ ? *own_ : in_.segment.packed[static_cast<std::size_t>(batch_ - in_.segment.batches.first)]; }

  /// All columns of the batch.
  void pack_columns() {
    const prepare::RowReader reader(in_.kernels, in_.problem.y, in_.traits.unit_rows);
    prepare::ValuePacker packer(reader, narrowing(), width_);
    own_->cols = {0, in_.problem.length(batch_, in_.problem.cols())};
    for (Index p = 0; p * width_ < own_->cols.last; ++p) {
      packer.pack(batch_ * in_.problem.cols() + p * width_, std::min(width_, own_->cols.last - p * width_), own_->rows, p);
    }
  }

  /// Columns `cols` of the tile, in the dtype asked for.
  void block(const Tile& tile, Range cols, std::byte* out) {
    const Index at = cols.first - tile.cols.first;
    const Index stride = tile.cols.size();
    switch (in_.problem.dtype) {
      case DType::f64: {
        const Block<double> b{reinterpret_cast<double*>(out) + at, stride, tile.rows, cols};
        return canonical(b);
      }
      case DType::f16: return halves(tile, cols, reinterpret_cast<std::uint16_t*>(out) + at, stride);
      default: {
        const Block<float> b{reinterpret_cast<float*>(out) + at, stride, tile.rows, cols};
        return in_.problem.exact ? canonical(b) : fast(b);
      }
    }
  }

  void halves(const Tile& tile, Range cols, std::uint16_t* out, Index stride) {
    if (in_.problem.exact) {
      doubles_.resize(static_cast<std::size_t>(tile.rows.size() * cols.size()));
      const Block<double> b{doubles_.data(), cols.size(), tile.rows, cols};
      canonical(b);
      for (Index i = tile.rows.first; i < tile.rows.last; ++i) halves_of(b.row(i), out + (i - tile.rows.first) * stride, i, cols);
      return;
    }
    const Block<float> b{floats_.data(), cols.size(), tile.rows, cols};
    fast(b);
    for (Index i = tile.rows.first; i < tile.rows.last; ++i) {
      std::uint16_t* row = out + (i - tile.rows.first) * stride;
      in_.kernels.halve(b.row(i), cols.size(), row);
      for (Index j = 0; j < cols.size(); ++j) {
        if ((row[j] & 0x7fffu) == 0x7c00u) fail_past_half(batch_, i, cols.first + j, b.row(i)[j]);
      }
    }
  }

  void halves_of(const double* row, std::uint16_t* out, Index i, Range cols) const {
    for (Index j = 0; j < cols.size(); ++j) {
      out[j] = support::half_of(row[j]);
      if ((out[j] & 0x7fffu) == 0x7c00u) fail_past_half(batch_, i, cols.first + j, row[j]);
    }
  }

  /// Every value by the canonical sum, rounded once.
  template <class T>
  void canonical(const Block<T>& b) {
    const Index x0 = batch_ * in_.problem.rows();
    const Index y0 = batch_ * in_.problem.cols();
    const Range counted = counted_rows(b.rows);
    const Range counted_cols = this->counted_cols(b.cols);
    for (Index i = counted.first; i < counted.last; ++i) {
      for (Index j = halved_ ? std::max(i, counted_cols.first) : counted_cols.first; j < counted_cols.last; ++j) b.at(i, j) = static_cast<T>(pairs_.value(x0 + i, y0 + j));
    }
    counts_.canonically += counted.size() * counted_cols.size();
    patch(b);
  }

  void fast(const Block<float>& b) { images_ ? by_images(b) : by_kernels(b); }

  void by_images(const Block<float>& b) {
    const Index x0 = batch_ * in_.problem.rows();
    const Index y0 = batch_ * in_.problem.cols();
    const Range cols = counted_cols(b.cols);
    images_->place_cols({y0 + cols.first, y0 + cols.last}, pairs_);
    const Range rows = counted_rows(b.rows);
    for (Index i = rows.first; i < rows.last; ++i) {
      const Index first = halved_ ? std::max(i, cols.first) : cols.first;
      if (first >= cols.last) continue;
      images_->row(pairs_.row(x0 + i), {y0 + first, y0 + cols.last}, &b.at(i, first), [&](Index y) {
        ++counts_.canonically;
        return static_cast<float>(pairs_.value(x0 + i, y));
      });
    }
    patch(b);
  }

  void by_kernels(const Block<float>& b) {
    const PackedColumns& packed = columns();
    const Index panel_rows = height_;
    const Index last_col = std::min(b.cols.last, packed.cols.last);
    for (Index i = b.rows.first; i < b.rows.last; i += panel_rows) {
      const Index rows = std::min(panel_rows, b.rows.last - i);
      Index j = b.cols.first;
      if (halved_) j = std::max(j, packed.cols.first + (i - packed.cols.first) / width_ * width_);
      while (j < last_col) {
        const Index panel = (j - packed.cols.first) / width_;
        const Index start = packed.cols.first + panel * width_;
        const Index whole = (last_col - start) / width_;
        if (rows == panel_rows && j == start && whole > 0) {
          panels(b, i, panel, whole, &b.at(i, j), b.stride);
          j += whole * width_;
        } else {
          // A panel that the block holds in part: computed whole, copied in part.
          const Range part{j, std::min(last_col, start + width_)};
          edge(b, {i, i + rows}, part, panel);
          j = part.last;
        }
      }
    }
    patch(b);
  }

  ValueCall call_for(Index row, Index panel, Index panels, float* out, Index stride) {
    return {.query = rows_->view((row - at_.first) / height_),
            .base = columns().rows.view(panel),
            .d = in_.problem.x.cols,
            .panels = panels,
            .out = out,
            .out_stride = stride,
            .doubtful = doubtful_.data(),
            .finish = narrowing().finish};
  }

  void panels(const Block<float>& b, Index row, Index panel, Index count, float* out, Index stride) {
    const auto kernel = in_.kernels.values(narrowing().element, narrowing().form, height_);
    if (!kernel(call_for(row, panel, count, out, stride))) return;
    for (Index p = 0; p < count; ++p) {
      for (Index r = 0; r < height_; ++r) {
        const std::uint64_t mask = doubtful_[static_cast<std::size_t>(p * height_ + r)];
        if (mask != 0) mend(b, row + r, panel + p, mask, out + r * stride + p * width_);
      }
    }
  }

  void edge(const Block<float>& b, Range rows, Range cols, Index panel) {
    const auto kernel = in_.kernels.values(narrowing().element, narrowing().form, height_);
    AlignedBuffer<float>& values = scratch_;
    kernel(call_for(rows.first, panel, 1, values.data(), width_));
    const Index skip = cols.first - columns().cols.first - panel * width_;
    const std::uint64_t wanted = ((std::uint64_t{1} << (cols.size() - 1) << 1) - 1) << skip;
    for (Index i = rows.first; i < rows.last; ++i) {
      const Index r = i - rows.first;
      const std::uint64_t mask = doubtful_[static_cast<std::size_t>(r)] & wanted;
      if (mask != 0) mend(b, i, panel, mask, values.data() + r * width_);
      std::copy_n(values.data() + r * width_ + skip, cols.size(), &b.at(i, cols.first));
    }
  }

  /// Recomputes the values of row i in `panel` that `mask` names: by differences where that is good enough, else canonically.
  void mend(const Block<float>& b, Index i, Index panel, std::uint64_t mask, float* values) {
    if (i >= in_.problem.length(batch_, in_.problem.rows())) return;
    const PackedColumns& packed = columns();
    const Index start = packed.cols.first + panel * width_;
    if (start + width_ > packed.cols.last) mask &= (std::uint64_t{1} << (packed.cols.last - start)) - 1;
    if (in_.problem.self && narrowing().form != ValueForm::dot_product && i >= start && i < start + width_ && (mask >> (i - start) & 1) != 0) {
      values[i - start] = 0;  // x - x is 0, and so is every distance made of it
      mask &= ~(std::uint64_t{1} << (i - start));
    }
    if (mask != 0 && narrowing().fallback) mask = by_differences(i, panel, mask, values);
    const Index x = batch_ * in_.problem.rows() + i;
    const Index y = batch_ * in_.problem.cols() + start;
    for (; mask != 0; mask &= mask - 1) {
      const int j = std::countr_zero(mask);
      // Columns outside the block have no place among the cached rows; their values are not wanted.
      if (start + j < b.cols.first || start + j >= b.cols.last) continue;
      values[j] = static_cast<float>(pairs_.value(x, y + j));
      ++counts_.canonically;
    }
  }

  /// Returns the values that differences cannot vouch for either.
  std::uint64_t by_differences(Index i, Index panel, std::uint64_t mask, float* values) {
    const Index r = i - at_.first;
    kernels::ValueRows query = rows_->view(r / height_);
    const float* interleaved = query.packed + r % height_;
    for (Index t = 0; t < in_.problem.x.cols; ++t) alone_[t] = interleaved[t * height_];
    query = {.packed = alone_.data(), .norm2 = nullptr, .norm = nullptr, .slack = query.slack + r % height_};
    alignas(64) float direct[64];
    std::uint64_t left = 0;
    const auto kernel = in_.kernels.values(in_.traits.direct_element, ValueForm::direct_squared, 1);
    kernel({.query = query, .base = columns().rows.view(panel), .d = in_.problem.x.cols, .panels = 1, .out = direct, .out_stride = 64, .doubtful = &left,
            .finish = narrowing().finish});
    for (std::uint64_t good = mask & ~left; good != 0; good &= good - 1) {
      values[std::countr_zero(good)] = direct[std::countr_zero(good)];
      ++counts_.directly;
    }
    return mask & left;
  }

  Range counted_rows(Range rows) const noexcept {
    return {rows.first, std::clamp(in_.problem.length(batch_, in_.problem.rows()), rows.first, rows.last)};
  }
  Range counted_cols(Range cols) const noexcept {
    return {cols.first, std::clamp(in_.problem.length(batch_, in_.problem.cols()), cols.first, cols.last)};
  }

  /// What no sum says: rows without a direction, rows past a batch's length.
  template <class T>
  void patch(const Block<T>& b) const {
    const Index x0 = batch_ * in_.problem.rows();
    const Index y0 = batch_ * in_.problem.cols();
    for_each(in_.zero_rows, {x0 + b.rows.first, x0 + b.rows.last}, [&](Index x) { std::fill_n(b.row(x - x0), b.cols.size(), T{1}); });
    for_each(in_.zero_cols, {y0 + b.cols.first, y0 + b.cols.last}, [&](Index y) {
      for (Index i = b.rows.first; i < b.rows.last; ++i) b.at(i, y - y0) = in_.problem.self && i == y - y0 ? T{0} : T{1};
    });
    const Range rows = counted_rows(b.rows);
    const Range cols = counted_cols(b.cols);
    for (Index i = b.rows.first; i < b.rows.last; ++i) {
      const Index from = i < rows.last ? cols.last : b.cols.first;
      std::fill_n(b.row(i) + (from - b.cols.first), b.cols.last - from, static_cast<T>(kNaN));
    }
  }

  template <class Body>
  static void for_each(const std::vector<Index>& sorted, Range range, const Body& body) {
    for (auto at = std::ranges::lower_bound(sorted, range.first); at != sorted.end() && *at < range.last; ++at) body(*at);
  }

  ElementInputs in_;
  prepare::RowReader reader_;
  CanonicalPairs pairs_;
  Index height_;
  Index width_;
  Index batch_ = -1;
  Range at_{-1, -1};
  bool halved_ = false;  // only what is on and above the diagonal is computed
  std::unique_ptr<ImageValues> images_;  // periodic, unless every value is canonical
  std::unique_ptr<prepare::PackedValueRows> rows_;
  std::unique_ptr<PackedColumns> own_;  // where the segment leaves columns to its workers
  AlignedBuffer<float> alone_;  // [d]: one row, not interleaved
  std::vector<std::uint64_t> doubtful_;
  AlignedBuffer<float> scratch_;  // [panel_rows, panel_cols]
  AlignedBuffer<float> floats_;   // [tile_rows, block_cols], float16 only
  std::vector<double> doubles_;
  core::ValuesCounts counts_;
};

}  // namespace

std::unique_ptr<core::ValuesWorker> make_element_worker(const ElementInputs& inputs, Index tile_rows) {
  return std::make_unique<ElementWorker>(inputs, tile_rows);
}

std::uint64_t element_row_bytes(Index d, bool canonical) noexcept {
  return static_cast<std::uint64_t>(prepare::padded_cols(d)) * sizeof(double) + (canonical ? 0 : 4 * static_cast<std::uint64_t>(d) + 64);
}

std::uint64_t element_block_bytes(Index d, Index block_cols) noexcept {
  return static_cast<std::uint64_t>(prepare::padded_cols(d) * block_cols) * sizeof(double) + (std::uint64_t{1} << 16);
}

}  // namespace tessera::engine
