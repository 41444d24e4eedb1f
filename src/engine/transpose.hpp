// SPDX-License-Identifier: Apache-2.0
// Here: a tile turned about its diagonal, while it is hot. Not here: which tiles have a mirror image (run_values).
#pragma once

#include <algorithm>
#include <cstring>

#include "tessera/rows.hpp"

namespace tessera::engine {

/// out [cols, rows] = in [rows, cols], rows apart by their strides (in values). The two must not overlap.
template <class T>
void transpose(const T* in, Index in_stride, Index rows, Index cols, T* out, Index out_stride) noexcept {
  // Whole cache lines in, whole cache lines out, by way of a block in L1: rows of a tile are often a power of two apart, and
  // would fight for the same few sets.
  constexpr Index kBlock = 16;
  alignas(64) T block[kBlock][kBlock];
  for (Index i0 = 0; i0 < rows; i0 += kBlock) {
    const Index height = std::min(kBlock, rows - i0);
    for (Index j0 = 0; j0 < cols; j0 += kBlock) {
      const Index width = std::min(kBlock, cols - j0);
      const T* source = in + i0 * in_stride + j0;
      T* target = out + j0 * out_stride + i0;
      if (height < kBlock || width < kBlock) {
        for (Index j = 0; j < width; ++j) {
          for (Index i = 0; i < height; ++i) target[j * out_stride + i] = source[i * in_stride + j];
        }
        continue;
      }
      for (Index i = 0; i < kBlock; ++i) {
        for (Index j = 0; j < kBlock; ++j) block[j][i] = source[i * in_stride + j];
      }
      for (Index j = 0; j < kBlock; ++j) std::memcpy(target + j * out_stride, block[j], sizeof block[j]);
    }
  }
}

/// values [n, n]: what is below the diagonal becomes what is above it.
template <class T>
void mirror_upper(T* values, Index n) noexcept {
  constexpr Index kBlock = 64;
  for (Index i0 = 0; i0 < n; i0 += kBlock) {
    const Index last = std::min(n, i0 + kBlock);
    transpose(values + i0, n, i0, last - i0, values + i0 * n, n);
    for (Index i = i0; i < last; ++i) {
      for (Index j = i0; j < i; ++j) values[i * n + j] = values[j * n + i];
    }
  }
}

}  // namespace tessera::engine
