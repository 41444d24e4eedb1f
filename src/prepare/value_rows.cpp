// SPDX-License-Identifier: Apache-2.0
#include "prepare/value_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace tessera::prepare {
namespace {

using kernels::ValueForm;
using metrics::BoundForm;

// Results are factor * sum in fp32: a factor within 2^+-120 is a normal float, and so are sums scaled by it.
constexpr int kLargestValueScale = 60;
// Norms, out of scaled units, past which a value may come near the end of float32; computed canonically instead.
constexpr double kLargestSquareNorm = 0x1p62;
constexpr double kLargestLinearNorm = 0x1p125;
// 1 / (64 u): a value is good where narrowing moved it by at most 64 u of itself (numerics.md, dump values).
constexpr double kSlackFactor = 0x1p18;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Index panels_of(Index rows, Index width) noexcept { return (rows + width - 1) / width; }

/// Evenly spaced rows that a centre and a scale are chosen from. Any choice is right; few rows make a good one, and a batch of
/// many small matrices chooses many.
constexpr Index kSampleRows = 32;
/// A centre keeps so many bits below the spread of its dimension. Then whole numbers, and much of what else fp32 holds, stay exact
/// when it is subtracted.
constexpr int kCentreBits = 4;

/// The mean of a sample, rounded dimension by dimension, and the largest difference from it.
double choose_centre(const RowReader& reader, bool centred, support::AlignedBuffer<double>& centre) {
  const Index n = reader.rows().rows;
  const Index padded = reader.padded();
  const Index count = std::min(n, kSampleRows);
  std::vector<double> sample(static_cast<std::size_t>(count * padded));
  for (Index i = 0; i < count; ++i) reader.read(i * n / count, sample.data() + i * padded);
  double largest = 0;
  std::vector<double> low(static_cast<std::size_t>(padded), std::numeric_limits<double>::infinity());
  std::vector<double> high(static_cast<std::size_t>(padded), -std::numeric_limits<double>::infinity());
  for (Index i = 0; i < count; ++i) {
    const double* row = sample.data() + i * padded;
    for (Index t = 0; t < padded; ++t) {
      centre[t] += row[t];
      low[t] = std::min(low[t], row[t]);
      high[t] = std::max(high[t], row[t]);
    }
  }
  for (Index t = 0; t < padded && count > 0; ++t) {
    const double spread = high[t] - low[t];
    double c = centre[t] / static_cast<double>(count);
    if (spread > 0) {
      const double step = std::ldexp(1.0, std::ilogb(spread) - kCentreBits);
      c = std::nearbyint(c / step) * step;
    } else {
      c = low[t];
    }
    centre[t] = centred ? c : 0;
    largest = std::max({largest, high[t] - centre[t], centre[t] - low[t]});
  }
  return largest;
}

bool is_linear(ValueForm form) noexcept { return form == ValueForm::direct_linear; }

}  // namespace

ValueForm value_form(const metrics::MetricTraits& traits, Index d) noexcept {
  if (traits.has_dot && (d >= metrics::kDirectBelow || !traits.has_direct)) {
    return traits.dot == BoundForm::dot_product ? ValueForm::dot_product : ValueForm::dot_squared;
  }
  return traits.direct == BoundForm::direct_linear ? ValueForm::direct_linear : ValueForm::direct_squared;
}

ValueNarrowing choose_value_narrowing(const RowReader& reader, const metrics::MetricTraits& traits) {
  ValueNarrowing n;
  n.form = value_form(traits, reader.rows().cols);
  const bool dot = n.form == ValueForm::dot_squared || n.form == ValueForm::dot_product;
  n.element = dot ? metrics::Element::product : traits.direct_element;
  n.fallback = n.form == ValueForm::dot_squared;
  n.rows.dot = dot;
  n.rows.element = n.element;
  n.rows.bound.d = reader.rows().cols;
  n.rows.base_centre = support::AlignedBuffer<double>(static_cast<std::size_t>(reader.padded()));
  std::fill(n.rows.base_centre.begin(), n.rows.base_centre.end(), 0.0);
  // A centre of inner products would cost a term a pair; differences need none where fp32 holds the elements exactly.
  n.rows.base_centred = n.form == ValueForm::dot_squared || (!dot && (reader.unit_rows() || !narrows_exactly(reader.rows().dtype)));
  const double largest = choose_centre(reader, n.rows.base_centred, n.rows.base_centre) * std::sqrt(static_cast<double>(reader.padded()));
  if (largest > 0) n.rows.scale = std::ldexp(1.0, -std::clamp(std::ilogb(largest), -kLargestValueScale, kLargestValueScale));
  const double unscale = is_linear(n.form) || traits.value.root ? 1 / n.rows.scale : 1 / (n.rows.scale * n.rows.scale);
  n.finish = {.factor = static_cast<float>(traits.value.factor * unscale),
              .cap = static_cast<float>(traits.value.cap),
              .ratio = traits.value.root ? 0.2f : 0.4f,
              .root = traits.value.root};
  return n;
}

namespace {

/// Copies the columns [d] of one row panel of W rows out of a wider panel.
template <int W>
void copy_panel(const float* in, Index in_width, Index d, float* out) noexcept {
  for (Index t = 0; t < d; ++t) std::memcpy(out + t * W, in + t * in_width, W * sizeof(float));
}

void copy_panel(const float* in, Index in_width, Index d, Index width, float* out) noexcept {
  switch (width) {  // the panel heights there are; a call of memcpy for so few bytes would cost more than the copy
    case 4: return copy_panel<4>(in, in_width, d, out);
    case 8: return copy_panel<8>(in, in_width, d, out);
    default:
      for (Index t = 0; t < d; ++t) std::copy_n(in + t * in_width, width, out + t * width);
  }
}

}  // namespace

PackedValueRows::PackedValueRows(Index rows, Index d, Index panel_width)
    : cols(d), width(panel_width), panel_count(panels_of(rows, panel_width)), packed(static_cast<std::size_t>(panel_count * width * d)),
      norm2(static_cast<std::size_t>(panel_count * width)), norm(static_cast<std::size_t>(panel_count * width)),
      slack(static_cast<std::size_t>(panel_count * width)) {}

kernels::ValueRows PackedValueRows::view(Index panel) const noexcept {
  const Index at = panel * width;
  return {.packed = packed.data() + at * cols, .norm2 = norm2.data() + at, .norm = norm.data() + at, .slack = slack.data() + at};
}

void PackedValueRows::copy_rows(const PackedValueRows& from, Index first, Index count) noexcept {
  for (Index i = 0; i < count; ++i) {
    const Index source = first + i;
    const float* in = from.packed.data() + source / from.width * from.width * cols + source % from.width;
    float* out = packed.data() + i / width * width * cols + i % width;
    norm2[i] = from.norm2[source];
    norm[i] = from.norm[source];
    slack[i] = from.slack[source];
    // Rows that lie side by side in both panels go together.
    Index together = 1;
    while (i % width + together < width && source % from.width + together < from.width && i + together < count) ++together;
    if (together == width && i % width == 0) {
      copy_panel(in, from.width, cols, width, out);
      for (Index j = 1; j < width; ++j) {
        norm2[i + j] = from.norm2[source + j];
        norm[i + j] = from.norm[source + j];
        slack[i + j] = from.slack[source + j];
      }
      i += width - 1;
      continue;
    }
    for (Index t = 0; t < cols; ++t) out[t * width] = in[t * from.width];
  }
}

void PackedValueRows::poison(Index first, Index last) noexcept {
  for (Index i = first; i < last; ++i) {
    float* out = packed.data() + i / width * width * cols + i % width;
    for (Index t = 0; t < cols; ++t) out[t * width] = kNaN;
    norm2[i] = kNaN;
    norm[i] = slack[i] = kNaN;
  }
}

std::uint64_t packed_value_bytes(Index rows, Index d, Index width) noexcept {
  return static_cast<std::uint64_t>(panels_of(rows, width) * width) * (static_cast<std::uint64_t>(d) * sizeof(float) + 16);
}

ValuePacker::ValuePacker(const RowReader& reader, const ValueNarrowing& narrowing, Index width)
    : reader_(reader), narrowing_(narrowing), width_(width), stride_(reader.padded() + 16),
      row_(static_cast<std::size_t>(reader.padded())), narrow_(static_cast<std::size_t>(width * stride_)) {}

void ValuePacker::pack(Index first, Index count, PackedValueRows& out, Index panel) {
  const auto& kernels = reader_.kernels();
  const Index padded = reader_.padded();
  const double largest = (is_linear(narrowing_.form) ? kLargestLinearNorm : kLargestSquareNorm) * narrowing_.rows.scale;
  for (Index j = 0; j < width_; ++j) {
    const Index at = panel * width_ + j;
    float* narrow = narrow_.data() + j * stride_;
    NarrowedRow row{.terms = {}, .bypass = true};
    if (j < count) {
      reader_.read(first + j, row_.data());
      row = narrow_base_row(narrowing_.rows, kernels, row_.data(), padded, narrow);
    }
    if (row.bypass || !(row.terms.norm < largest)) {
      std::fill_n(narrow, padded, kNaN);
      out.norm2[at] = kNaN;
      out.norm[at] = out.slack[at] = kNaN;
      continue;
    }
    // The norm of the packed row itself, so that narrowing moves values by no more than it moves the rows.
    for (Index t = 0; t < padded; ++t) row_[t] = narrow[t];
    const double norm2 = kernels.canonical[static_cast<int>(metrics::Element::product)](row_.data(), row_.data(), padded);
    out.norm2[at] = norm2;
    out.norm[at] = static_cast<float>(std::sqrt(norm2));
    out.slack[at] = metrics::float_up(row.terms.residual * kSlackFactor);
  }
  kernels.interleave(narrow_.data(), stride_, width_, out.cols, width_, out.packed.data() + panel * out.cols * width_);
}

}  // namespace tessera::prepare
