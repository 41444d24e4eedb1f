// SPDX-License-Identifier: Apache-2.0
#include "engine/quantile_sketch.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::engine {
namespace {

constexpr double kHalfUlp = 0x1p-53;
constexpr double kOutward = 1 + 0x1p-40;  // pays for the few roundings of the bounds' own arithmetic

double value(const core::Distribution& d, Index i) noexcept {
  return d.type == core::ValueType::f32 ? static_cast<double>(static_cast<const float*>(d.values)[i]) : static_cast<const double*>(d.values)[i];
}

}  // namespace

void SketchTerms::take(const SketchTerms& other) noexcept {
  lowest = atoms == 0 ? other.lowest : std::min(lowest, other.lowest);
  highest = atoms == 0 ? other.highest : std::max(highest, other.highest);
  atoms = std::max(atoms, other.atoms);
  error = std::max(error, other.error);
  whole = whole && other.whole;
}

double block_means(const core::Distribution& d, Index blocks, double* means) noexcept {
  const double width = d.total / static_cast<double>(blocks);
  Index i = 0;
  Index most = 0;  // atoms that a block meets
  double begin = 0;
  for (Index k = 0; k < blocks; ++k) {
    const double border = k + 1 == blocks ? d.total : d.total * (static_cast<double>(k + 1) / static_cast<double>(blocks));
    double sum = 0;
    Index met = 0;
    while (begin < border) {
      const double end = i + 1 < d.size ? (d.cumulative != nullptr ? d.cumulative[i] : static_cast<double>(i + 1)) : d.total;
      const double until = std::min(end, border);
      sum += (until - begin) * value(d, i);
      begin = until;
      ++met;
      if (end > border || i + 1 == d.size) break;
      ++i;
    }
    means[k] = sum / width;
    most = std::max(most, met);
  }
  // An overlap is off by at most 3U of the total, which is `blocks` times the block's width; each addition by U of the sum.
  const double largest = std::max(std::abs(d.lowest), std::abs(d.highest));
  return (static_cast<double>(most + 2) * (4 * static_cast<double>(blocks) + 2) + 8) * kHalfUlp * largest * kOutward + 0x1p-1000;
}

SketchTerms sketch_terms(const core::Distribution& d, double error) noexcept {
  return {.atoms = d.runs ? d.total : static_cast<double>(d.size), .error = error, .lowest = d.lowest, .highest = d.highest, .whole = d.whole_weights};
}

double largest_sketch(double tau, double p, Index blocks, const SketchTerms& a, const SketchTerms& b) noexcept {
  const double atoms = a.atoms + b.atoms;
  const double relative = (atoms / 8 + 128) * kHalfUlp;
  double absolute = a.error + b.error;
  if (!(a.whole && b.whole)) {
    // Ends are off by (atoms + 1) U of the whole each; for p = infinity segments up to atoms * 2^-52 did not count.
    const double range = std::max(a.highest, b.highest) - std::min(a.lowest, b.lowest);
    absolute += (std::isinf(p) ? atoms * atoms * 0x1p-50 : atoms * 0x1p-49) * range;
  }
  return (tau * (1 + 2 * relative) + absolute) * static_cast<double>(blocks) * kOutward;
}

}  // namespace tessera::engine
