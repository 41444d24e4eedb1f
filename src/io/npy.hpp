// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/input.hpp"

namespace tessera::io {

/// Reads one .npy array: [n, d], or [n] as [n, 1]; C or Fortran order, either byte order.
Decoded read_npy(const Input& input);

/// The same, or a grid [rows, cols, samples] of distributions as [rows * cols, samples].
Decoded read_npy_distributions(const Input& input);

}  // namespace tessera::io
