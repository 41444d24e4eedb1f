// SPDX-License-Identifier: Apache-2.0
// Here: block means of quantile functions, and what they prove about W_p (docs/numerics.md, section 19). Not here: the tile kernel
// that compares many of them (kernels/), exact distances (quantile_pairs).
#pragma once

#include "core/distributions.hpp"

namespace tessera::engine {

inline constexpr Index kCoarseBlocks = 32;   // for the L1 tile kernel
inline constexpr Index kFineBlocks = 256;   // for the pairs it leaves; chosen

/// What a distribution adds to the bounds of its pairs. For a set: the largest of each, over its members.
struct SketchTerms {
  double atoms = 0;
  double error = 0;     // no block mean is off by more
  double lowest = 0;    // of the values
  double highest = 0;
  bool whole = true;    // integer weights

  void take(const SketchTerms& other) noexcept;
};

/// The means of the quantile function over `blocks` equal parts of [0, 1]; samples are cut at the borders.
/// d        not wide.
/// returns  how far a mean may be off.
double block_means(const core::Distribution& d, Index blocks, double* means) noexcept;

SketchTerms sketch_terms(const core::Distribution& d, double error) noexcept;

/// The largest sum of absolute differences of `blocks` means that a pair with a canonical W_p of at most tau may have.
double largest_sketch(double tau, double p, Index blocks, const SketchTerms& a, const SketchTerms& b) noexcept;

}  // namespace tessera::engine
