// SPDX-License-Identifier: Apache-2.0
// Here: rows of periodic distances, by the kernel that takes sixteen columns at once. Not here: which columns, and the pairs that it
// cannot vouch for (element_worker).
#pragma once

#include <bit>
#include <vector>

#include "engine/element_values.hpp"
#include "support/aligned_buffer.hpp"

namespace tessera::engine {

class ImageValues {
 public:
  explicit ImageValues(const ElementInputs& in);

  /// From now on columns are these: rows of y, whose coordinates `pairs` has.
  void place_cols(core::Range cols, CanonicalPairs& pairs);
  /// Distances of x to columns [first, last): out [last - first]. Those that are not proven good enough come from mend(column).
  template <class Mend>
  void row(const double* x, core::Range cols, float* out, const Mend& mend) {
    call_.x = x;
    call_.y = coordinates_.data() + (cols.first - cols_.first);
    call_.cols = cols.size();
    call_.out = out;
    if (!kernels_.images(call_)) return;
    for (Index group = 0; group * 16 < cols.size(); ++group) {
      for (unsigned mask = doubtful_[static_cast<std::size_t>(group)]; mask != 0; mask &= mask - 1) {
        const Index at = group * 16 + std::countr_zero(mask);
        out[at] = mend(cols.first + at);
      }
    }
  }

  /// Memory it holds.
  static std::uint64_t bytes(Index block_cols) noexcept { return static_cast<std::uint64_t>(block_cols + 32) * (3 * sizeof(double) + 1); }

 private:
  const kernels::CpuKernels& kernels_;
  kernels::ImageCall call_{};
  core::Range cols_;
  support::AlignedBuffer<double> coordinates_;  // [3, stride]
  std::vector<std::uint16_t> doubtful_;
};

}  // namespace tessera::engine
