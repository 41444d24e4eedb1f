// SPDX-License-Identifier: Apache-2.0
// Here: the one way to a pair's canonical key, whatever the metric is made of. Not here: reading rows, deciding.
#pragma once

#include "kernels/cpu/contract.hpp"
#include "metrics/lattice.hpp"
#include "metrics/traits.hpp"

namespace tessera::engine {

/// Keys of two rows of doubles, zero-padded to a multiple of 16.
class CanonicalPair {
 public:
  /// lattice  of traits.nearest_image metrics, else null; outlives this.
  CanonicalPair(const kernels::CpuKernels& kernels, const metrics::MetricTraits& traits, const metrics::Lattice* lattice) noexcept
      : traits_(traits), lattice_(lattice), sum_(kernels.canonical[static_cast<int>(traits.canonical)]), nearest_image_(kernels.nearest_image) {}

  double key(const double* x, const double* y, Index padded) const noexcept {
    if (lattice_ != nullptr) return traits_.key(nearest_image_(*lattice_, x, y).key);
    return traits_.key(sum_(x, y, padded));
  }

 private:
  const metrics::MetricTraits& traits_;
  const metrics::Lattice* lattice_;
  kernels::CanonicalKernel sum_;
  kernels::NearestImageKernel nearest_image_;
};

}  // namespace tessera::engine
