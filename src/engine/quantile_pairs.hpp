// SPDX-License-Identifier: Apache-2.0
// Here: the canonical W_p of sorted distributions (docs/numerics.md, section 19), one pair or many. Not here: sorting (prepare/), the
// sums over segments (kernels/), which pairs are wanted.
#pragma once

#include <span>
#include <vector>

#include "core/distributions.hpp"
#include "kernels/cpu/contract.hpp"
#include "tessera/metric.hpp"

namespace tessera::engine {

/// A pair that is wanted, and its distance.
struct QuantilePair {
  const core::Distribution* a = nullptr;
  const core::Distribution* b = nullptr;
  double distance = 0;
};

/// Computes distances; one worker's, because it keeps scratch.
class QuantilePairs {
 public:
  QuantilePairs(const kernels::CpuKernels& kernels, const MetricSpec& metric);
  ~QuantilePairs();

  /// a, b     with samples (size > 0).
  /// returns  W_p, +0 for equal distributions; the same bits for (b, a).
  double distance(const core::Distribution& a, const core::Distribution& b);

  /// Fills in the distances of all pairs. Long distributions are taken a slice of the quantile axis at a time: a slice of all of them
  /// fits in `cache` bytes. The bits are those of distance().
  void distances(std::span<QuantilePair> pairs, std::uint64_t bytes, std::uint64_t cache);

 private:
  struct Plan;
  struct Open;  // a pair on its way along the quantile axis

  Plan understand(const core::Distribution& a, const core::Distribution& b);
  void take_values(Plan& plan, bool by_samples);
  void take_ends(Plan& plan);
  double reduce(const Plan& plan, const kernels::QuantileNorm& norm);
  double reduce_oddly(const Plan& plan, const kernels::QuantileNorm& norm);
  double rescaled(const Plan& plan, double largest);
  double finished(const Plan& plan, double sum);
  bool is_exact(const core::Distribution& a, const core::Distribution& b, double total) const noexcept;
  kernels::QuantileNorm first_norm(const Plan& plan) const noexcept;
  void walk(const std::vector<Open*>& open, Index slices);

  const kernels::QuantileKernels& kernels_;
  double p_;
  std::vector<double> values_x_, values_y_;  // samples as doubles, where they are stored otherwise
  std::vector<double> ends_x_, ends_y_;      // where atoms end, where that is not stored
  std::vector<unsigned __int128> wide_ends_x_, wide_ends_y_;
  std::vector<Open> open_;
};

}  // namespace tessera::engine
