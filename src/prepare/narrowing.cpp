// SPDX-License-Identifier: Apache-2.0
#include "prepare/narrowing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace tessera::prepare {
namespace {

using metrics::BoundForm;
using metrics::Element;

constexpr Index kSampleRows = 1024;
constexpr Index kSampleElements = Index{1} << 21;  // 16 MiB of doubles
constexpr double kHalfUlp64 = 0x1p-53;
constexpr double kOutward = 1 + 0x1p-40;
// Beyond this square of a scaled norm, products in fp32 may overflow: such rows bypass the screen.
constexpr double kLargestNorm2 = kernels::kLargestQuantisedNorm2;
// s^2 must not overflow double.
constexpr int kLargestScaleExponent = 480;
// Products of two are at least 2^-124: normal float32.
constexpr float kSmallestBf16 = 0x1p-62f;
constexpr Index kWrappedPadded = 16;  // three columns, padded as all rows are

/// Evenly spaced finite rows, [returned, padded].
std::vector<double> sample_rows(const RowReader& reader, const metrics::Lattice* lattice) {
  const Index n = reader.rows().rows;
  const Index padded = reader.padded();
  const Index wanted = std::clamp<Index>(kSampleElements / padded, 1, kSampleRows);
  const Index step = std::max<Index>(1, n / wanted);
  std::vector<double> sample;
  sample.reserve(static_cast<std::size_t>(std::min(n, wanted) * padded));
  std::vector<double> row(static_cast<std::size_t>(padded));
  for (Index i = 0; i < n && std::ssize(sample) / padded < wanted; i += step) {
    reader.read_raw(i, row.data());
    if (!reader.kernels().scan(row.data(), padded).finite) continue;
    reader.read(i, row.data());
    if (lattice != nullptr) reader.kernels().wrap(*lattice, row.data(), row.data());
    sample.insert(sample.end(), row.begin(), row.end());
  }
  return sample;
}

void mean_of(const std::vector<double>& sample, bool round_to_integers, support::AlignedBuffer<double>& centre) {
  const Index padded = static_cast<Index>(centre.size());
  const Index rows = std::ssize(sample) / padded;
  if (rows == 0) return;
  for (Index i = 0; i < rows; ++i) {
    // Divided first: a sum of a thousand values near the limit would overflow.
    for (Index t = 0; t < padded; ++t) centre[t] += sample[i * padded + t] / static_cast<double>(rows);
  }
  if (!round_to_integers) return;
  // Integer rows minus an integer centre narrow exactly.
  for (double& c : centre) c = std::nearbyint(c);
}

/// Moves a whole centre so that 8 bits hold what is left of every sampled element, where its column's range allows that.
void centre_for_bytes(const std::vector<double>& sample, support::AlignedBuffer<double>& centre) {
  constexpr double kLevels = 127;
  const std::size_t padded = centre.size();
  for (std::size_t t = 0; t < padded; ++t) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (std::size_t i = t; i < sample.size(); i += padded) {
      low = std::min(low, sample[i]);
      high = std::max(high, sample[i]);
    }
    if (high - low <= 2 * kLevels) centre[t] = std::clamp(centre[t], high - kLevels, low + kLevels);
  }
}

/// Not below any sampled row's norm, within a factor sqrt(d).
double norm_estimate(const std::vector<double>& sample, const support::AlignedBuffer<double>& centre) {
  const std::size_t padded = centre.size();
  double largest = 0;
  for (std::size_t row = 0; row < sample.size(); row += padded) {
    for (std::size_t t = 0; t < padded; ++t) largest = std::max(largest, std::abs(sample[row + t] - centre[t]));
  }
  return largest * std::sqrt(static_cast<double>(padded));
}

support::AlignedBuffer<double> zeros(Index padded) {
  support::AlignedBuffer<double> z(static_cast<std::size_t>(padded));
  std::fill(z.begin(), z.end(), 0.0);
  return z;
}

double brick_diagonal(const metrics::Lattice& lattice) noexcept {
  double norm = 0;
  for (int a = 0; a < lattice.rank; ++a) norm = std::hypot(norm, lattice.brick[a][a]);
  return norm;
}

/// What folding in fp32 may do to a distance (docs/numerics.md, section 18).
double fold_slack(const metrics::Lattice& lattice) noexcept {
  if (lattice.rank == 0) return 0;
  const double diagonal = brick_diagonal(lattice);
  const double list = lattice.orthogonal ? 0.0 : 66 * diagonal * (diagonal / lattice.smallest_edge);
  return 0x1p-24 * (32 * diagonal + list);
}

NarrowedRow narrowed(const Narrowing& n, const kernels::PackStats& stats, bool centred) noexcept {
  NarrowedRow row;
  if (!(stats.norm2 < kLargestNorm2)) {
    row.bypass = true;
    return row;
  }
  const auto d = static_cast<double>(n.bound.d);
  const double lanes = std::ceil(d / 16);
  const double underflow = std::sqrt(d) * 0x1p-537;  // a square below 2^-1074 counts as nothing in the sums
  const double sums = (1 + (lanes + 8) * kHalfUlp64) * kOutward;  // rounding of the norms' own sums
  const double norm = (std::sqrt(stats.norm2) + underflow) * sums;

  double residual = 0;
  if (stats.residual_max > 0) {
    switch (n.element) {
      case Element::squared_difference:
      case Element::product: residual = std::sqrt(stats.residual2) + underflow; break;
      case Element::absolute_difference: residual = stats.residual_sum; break;
      case Element::maximum_difference: residual = stats.residual_max; break;
    }
    residual *= sums;
  }
  if (centred) {
    // fl(x - c) is within U of x - c, element by element; the 1-norm is at most sqrt(d) times the 2-norm.
    residual += 2 * kHalfUlp64 * norm * (n.element == Element::absolute_difference ? std::sqrt(d) : 1.0);
  }
  row.terms = {.norm2 = stats.norm2, .norm = norm + residual, .residual = residual, .dot_centre = 0};
  return row;
}

/// Rounds a row to bf16 where it lies: words [padded] of floats become pairs.
NarrowedRow halved(const NarrowedRow& row, Index padded, float* out) noexcept {
  if (row.bypass) return row;
  constexpr Index kAtOnce = 16;
  float values[kAtOnce];
  std::uint16_t halves[kAtOnce];
  double rest = 0;
  for (Index t = 0; t < padded; t += kAtOnce) {
    std::copy_n(out + t, kAtOnce, values);
    rest += round_to_bf16(values, kAtOnce, halves);
    std::memcpy(out + t / 2, halves, sizeof halves);
  }
  return rounded_to_bf16(row, rest);
}

/// Packs a row as it is, wrapped into the brick, as integers, or as pairs of bf16.
NarrowedRow narrow_row(const Narrowing& n, const kernels::CpuKernels& kernels, kernels::QuantiseKernel quantise, const double* row,
                       const support::AlignedBuffer<double>& centre, bool centred, bool whole, Index padded, float* out) noexcept {
  // Whole numbers less whole numbers: nothing is rounded.
  const bool rounded = centred && !(whole && n.whole);
  if (n.int8) {
    const double least_step = whole && n.whole ? std::max(n.scale, kernels::kSmallestStep) : kernels::kSmallestStep;
    const kernels::QuantiseStats stats = quantise(row, centre.data(), n.scale, least_step, padded, reinterpret_cast<std::int8_t*>(out));
    // Only integers that are the row's own leave nothing over (metrics::BoundContext::whole).
    const bool own = static_cast<double>(stats.step) == n.scale;
    NarrowedRow r = narrowed(n, {.norm2 = stats.norm2, .residual2 = stats.residual2, .residual_sum = 0, .residual_max = stats.residual_max}, rounded || !own);
    r.step = stats.step;
    r.sum = stats.sum;
    return r;
  }
  if (n.bf16) return halved(narrowed(n, kernels.pack(row, centre.data(), n.scale, padded, out), rounded), padded, out);
  if (n.lattice == nullptr) return narrowed(n, kernels.pack(row, centre.data(), n.scale, padded, out), rounded);
  double wrapped[kWrappedPadded] = {};
  const double rounding = kernels.wrap(*n.lattice, row, wrapped);
  NarrowedRow result = narrowed(n, kernels.pack(wrapped, centre.data(), n.scale, padded, out), centred);
  result.terms.residual += rounding * n.scale * kOutward;
  return result;
}

}  // namespace

bool is_short_integer(DType dtype) noexcept {
  return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16 || dtype == DType::u16;
}

bool narrows_exactly(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16: return true;
    default: return false;
  }
}

double round_to_bf16(const float* values, Index count, std::uint16_t* out) noexcept {
  double rest = 0;
  for (Index t = 0; t < count; ++t) {
    const auto bits = std::bit_cast<std::uint32_t>(std::abs(values[t]) < kSmallestBf16 ? 0.0f : values[t]);
    // To nearest even; finite numbers of this size stay finite.
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    out[t] = static_cast<std::uint16_t>(rounded);
    const double r = static_cast<double>(values[t]) - static_cast<double>(std::bit_cast<float>(rounded << 16));  // exact
    rest += r * r;
  }
  return rest;
}

NarrowedRow rounded_to_bf16(const NarrowedRow& row, double rest) noexcept {
  // A plain sum of d squares errs by d U, and d is at most 2^15.
  constexpr double kSum = 1 + 0x1p-36;
  NarrowedRow result = row;
  const double more = std::sqrt(rest) * kSum;
  result.terms.residual = (row.terms.residual + more) * kOutward;
  result.terms.norm = (row.terms.norm + more) * kOutward;
  return result;
}

Index narrowed_depth(Index d, Screen screen) noexcept {
  if (screen == Screen::bf16) return (d + 1) / 2;
  return screen == Screen::int8 ? (d + 3) / 4 : d;
}

kernels::ScreenKernels screen_kernels(const Narrowing& n, const kernels::CpuKernels& kernels, Index rows) noexcept {
  if (n.bf16) return kernels.bf16_screen(rows);
  return n.int8 ? kernels.int8_screen(rows) : kernels.screen(n.element, n.dot, rows);
}

Narrowing choose_narrowing(const RowReader& reader, const metrics::MetricTraits& traits, Screen screen, double bound_inflation,
                           const metrics::Lattice* lattice) {
  const Index padded = reader.padded();
  const bool dot = screen != Screen::fp32_direct;
  Narrowing n;
  n.dot = dot;
  n.lattice = lattice;
  n.int8 = screen == Screen::int8;
  n.bf16 = screen == Screen::bf16;
  n.depth = narrowed_depth(packed_cols(traits, reader.rows().cols), screen);
  n.element = dot ? Element::product : traits.direct_element;
  const BoundForm form = dot ? traits.dot : traits.direct;
  n.factor = form == BoundForm::dot_product ? 1.0f : 2.0f;
  n.base_centre = zeros(padded);
  n.query_centre = zeros(padded);

  const DType dtype = reader.rows().dtype;
  const std::vector<double> sample = sample_rows(reader, lattice);
  // Direct differences need no centre where fp32 holds the elements exactly.
  n.base_centred = dot || reader.unit_rows() || lattice != nullptr || !narrows_exactly(dtype);
  if (n.base_centred) mean_of(sample, is_integer(dtype) && !reader.unit_rows() && lattice == nullptr, n.base_centre);
  n.whole = is_short_integer(dtype) && !reader.unit_rows() && lattice == nullptr;
  // Wrapped coordinates are centred already; open directions are not.
  if (lattice != nullptr) std::fill_n(n.base_centre.begin(), lattice->rank, 0.0);
  // Centring queries of an inner product would cost a term a pair, centring the base costs one a query.
  if (n.int8 && n.whole && reader.kernels().int8_group_sum == 0) centre_for_bytes(sample, n.base_centre);
  n.query_centred = n.base_centred && form != BoundForm::dot_product;
  if (n.query_centred) std::copy(n.base_centre.begin(), n.base_centre.end(), n.query_centre.begin());

  const double norm = std::max(norm_estimate(sample, n.base_centre), lattice != nullptr ? brick_diagonal(*lattice) : 0.0);
  if (norm > 0) n.scale = std::ldexp(1.0, -std::clamp(std::ilogb(norm), -kLargestScaleExponent, kLargestScaleExponent));
  double centre_norm = 0;
  for (const double c : n.base_centre) centre_norm = std::hypot(centre_norm, c * n.scale);
  const double z_scale = form == BoundForm::direct_linear ? n.scale : n.scale * n.scale;
  n.bound = metrics::make_context(form, packed_cols(traits, reader.rows().cols), z_scale, centre_norm * kOutward, bound_inflation, n.int8);
  if (n.bf16) n.bound = metrics::make_bf16_context(n.bound);
  if (lattice != nullptr) n.bound.fold_slack = fold_slack(*lattice) * n.scale;
  return n;
}

NarrowedRow narrow_base_row(const Narrowing& n, const kernels::CpuKernels& kernels, const double* row, Index padded, float* out) noexcept {
  return narrow_row(n, kernels, kernels.quantise_base, row, n.base_centre, n.base_centred, n.whole, padded, out);
}

NarrowedRow narrow_query_row(const Narrowing& n, const kernels::CpuKernels& kernels, const double* row, Index padded, float* out, bool whole) noexcept {
  NarrowedRow r = narrow_row(n, kernels, kernels.quantise_query, row, n.query_centre, n.query_centred, whole, padded, out);
  if (n.int8) {
    auto* bytes = reinterpret_cast<unsigned char*>(out);
    for (Index t = 0; t < padded; ++t) bytes[t] = static_cast<unsigned char>(bytes[t] + kernels.int8_levels);
  }
  if (n.bound.form == BoundForm::dot_product) {
    // Scaled once here and once by hand: both factors are exact powers of two.
    r.terms.dot_centre = kernels.canonical[static_cast<int>(Element::product)](row, n.base_centre.data(), padded) * n.scale * n.scale;
    r.bypass = r.bypass || !std::isfinite(r.terms.dot_centre);
  }
  return r;
}

ScreenedQuery narrow_for_screen(const Narrowing& n, const kernels::CpuKernels& kernels, const double* row, Index padded, float* out, bool whole) noexcept {
  std::fill_n(out, padded, 0.0f);
  ScreenedQuery query{.row = narrow_query_row(n, kernels, row, padded, out, whole)};
  query.factor = n.factor * (n.int8 ? query.row.step : 1.0f);
  query.reach = metrics::score_reach(n.bound, query.row.terms);
  if (query.row.bypass) {
    query.factor = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(out, padded, query.factor);
  }
  return query;
}

}  // namespace tessera::prepare
