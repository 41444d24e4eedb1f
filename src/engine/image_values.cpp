// SPDX-License-Identifier: Apache-2.0
#include "engine/image_values.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::engine {
namespace {

constexpr Index kGroup = 16;  // columns that the kernel takes at once
constexpr double kFoldSteps = 6;  // as the kernel's kMostFoldSteps

/// Distances from here on are within 10^-5 of the canonical ones, relatively (docs/numerics.md, section 17).
double least_proven(const metrics::Lattice& l) noexcept {
  double diagonal2 = 0;
  double longest2 = 0;
  double span = 0;
  for (int a = 0; a < l.rank; ++a) {
    diagonal2 += l.brick[a][a] * l.brick[a][a];
    longest2 = std::max(longest2, l.brick[a][0] * l.brick[a][0] + l.brick[a][1] * l.brick[a][1] + l.brick[a][2] * l.brick[a][2]);
    span += l.span[a];
  }
  const double reach = 2 * (std::sqrt(diagonal2) / 2 + kFoldSteps * std::sqrt(longest2));  // sqrt(3) |r|, rounded up
  const double rounding = metrics::kImageRounding * (reach + (1 + kFoldSteps) * span);
  return std::max(0x1p18 * rounding, 0x1p-15 * std::sqrt(diagonal2));
}

}  // namespace

ImageValues::ImageValues(const ElementInputs& in)
    : kernels_(in.kernels), coordinates_(static_cast<std::size_t>(3 * (in.block_cols + 2 * kGroup))), doubtful_(static_cast<std::size_t>(in.block_cols / kGroup + 1)) {
  const double least = least_proven(*in.lattice);
  call_.lattice = in.lattice;
  call_.stride = in.block_cols + 2 * kGroup;
  // Squares in fp32 from 2^-100 on have all their bits, and below 2^126 no rounding makes them infinite.
  call_.low = std::max(0x1p-100f, static_cast<float>(std::min(0x1p127, least * least * (1 + 0x1p-20))));
  call_.high = 0x1p126f;
  call_.doubtful = doubtful_.data();
}

void ImageValues::place_cols(core::Range cols, CanonicalPairs& pairs) {
  cols_ = cols;
  for (Index j = 0; j < cols.size(); ++j) {
    const double* y = pairs.col(cols.first + j);
    for (Index c = 0; c < 3; ++c) coordinates_[c * call_.stride + j] = y[c];
  }
  for (Index c = 0; c < 3; ++c) std::fill_n(coordinates_.data() + c * call_.stride + cols.size(), kGroup, 0.0);
}

}  // namespace tessera::engine
