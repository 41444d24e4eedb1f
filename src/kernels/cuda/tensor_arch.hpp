// SPDX-License-Identifier: Apache-2.0
// Here: how tensor cores add bf16 products, architecture by architecture, and what that may cost: the one table of it. An architecture
// without a row has no bf16 screen; 8-bit integers are exact everywhere.
// Not here: the instructions (mma.hpp), the model that tests run (tests/simt).
#pragma once

#include "tessera/rows.hpp"

namespace tessera::cuda {

/// c + the sum of `products` exact products: all are cut off below the last place that float32 has beside the largest of them, `extra_bits`
/// further down; the sum is exact and cut off to float32. Longer sums go on with that as c.
struct TensorArch {
  int arch;        // compute capability
  int products;
  int extra_bits;
};

// Khattak & Mikaitis, "Accurate Models of NVIDIA Tensor Cores", arXiv 2512.07004: models that agree with the devices bit by bit on random
// inputs. 80: A100; 90: H100, H200. scripts/gpu_check.sh compares the device at hand with its row.
inline constexpr TensorArch kTensorArchs[] = {
    {.arch = 80, .products = 8, .extra_bits = 1},
    {.arch = 90, .products = 16, .extra_bits = 2},
};

/// Null: unknown.
constexpr const TensorArch* find_tensor_arch(int arch) noexcept {
  for (const TensorArch& row : kTensorArchs) {
    if (row.arch == arch) return &row;
  }
  return nullptr;
}

/// Columns are padded with zeros to whole fragments of this many bf16.
inline constexpr Index kTensorDepth = 16;

/// The computed sum of d products a_t b_t is within gamma * sum |a_t b_t| of the exact one, if devices add as their row says
/// (docs/numerics.md, section 22).
constexpr double tensor_model_gamma(const TensorArch& arch, Index d) noexcept {
  const auto padded = static_cast<double>((d + kTensorDepth - 1) / kTensorDepth * kTensorDepth);
  const double steps = padded / arch.products;
  const double last_place = 0x1p-23 / static_cast<double>(1 << arch.extra_bits);
  const double step = (arch.products + 1) * last_place + 0x1p-23;
  return steps * step / (1 - steps * step);
}

/// Rows are others' measurements, so bounds allow three times what they say. That costs nothing: rounding rows to bf16 errs a hundred times more.
inline constexpr double kTensorAllowance = 3;

}  // namespace tessera::cuda
