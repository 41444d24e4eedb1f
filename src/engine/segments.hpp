// SPDX-License-Identifier: Apache-2.0
// Here: the segments of the quantile axis on which two distributions both are constant, in the order that canonical sums take.
// Not here: what becomes of them (kernels/).
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/cpu/contract.hpp"

namespace tessera::engine {

/// Gathers widths and differences, and hands them to a kernel a block at a time.
class SegmentBlock {
 public:
  SegmentBlock(kernels::SegmentKernel kernel, const kernels::QuantileNorm& norm) noexcept : kernel_(kernel), norm_(norm) {}

  void add(double width, double difference) noexcept {
    widths_[count_] = width;
    differences_[count_] = difference;
    if (++count_ == kBlock) flush();
  }
  /// The lanes, after padding with segments of no width.
  const double* finish() noexcept {
    while (count_ % 16 != 0) {
      widths_[count_] = 0;
      differences_[count_++] = 0;
    }
    flush();
    return lanes_;
  }

 private:
  static constexpr Index kBlock = 512;  // 8 KiB: stays in L1 between the two passes

  void flush() noexcept {
    kernel_(widths_, differences_, count_, norm_, lanes_);
    count_ = 0;
  }

  kernels::SegmentKernel kernel_;
  const kernels::QuantileNorm& norm_;
  Index count_ = 0;
  alignas(64) double widths_[kBlock];
  alignas(64) double differences_[kBlock];
  alignas(64) double lanes_[16] = {};
};

/// n samples each: segment t is sample t, of width 1. difference(i, j) is x_i - y_j, rounded once.
template <class Difference>
void equal_segments(Index n, Difference difference, SegmentBlock& out) noexcept {
  for (Index j = 0; j < n; ++j) out.add(1, difference(j, j));
}

/// n < m samples, the axis cut into n*m parts: sample j of the longer meets i = floor(jn/m) and i + 1 of the shorter, segments 2j
/// and 2j + 1. n*m <= 2^53.
template <class Difference>
void scheduled_segments(Index n, Index m, Difference difference, SegmentBlock& out) noexcept {
  Index i = 0;
  Index rest = 0;  // jn mod m
  for (Index j = 0; j < m; ++j) {
    const Index first = std::min(m - rest, n);
    out.add(static_cast<double>(first), difference(i, j));
    out.add(static_cast<double>(n - first), difference(std::min(i + 1, n - 1), j));
    rest += n;
    if (rest >= m) {
      rest -= m;
      ++i;
    }
  }
}

/// Atoms that end at ends_a[i] and ends_b[j], ascending; the last two ends count as `total`. Segment i + j is where atom i meets
/// atom j; where both end together, the next one has no width.
template <class End, class Difference>
void merged_segments(const End* ends_a, Index na, const End* ends_b, Index nb, End total, Difference difference, SegmentBlock& out) noexcept {
  Index i = 0;
  Index j = 0;
  End begin = 0;
  for (Index t = 0; t < na + nb - 1; ++t) {
    const bool a_first = i + 1 < na && (j + 1 == nb || ends_a[i] <= ends_b[j]);
    const End end = i + 1 == na && j + 1 == nb ? total : a_first ? ends_a[i] : ends_b[j];
    out.add(static_cast<double>(end - begin), difference(i, j));
    begin = end;
    if (a_first) {
      ++i;
    } else {
      ++j;
    }
  }
}

}  // namespace tessera::engine
