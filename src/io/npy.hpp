// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/input.hpp"

namespace tessera::io {

/// Reads one .npy array: [n, d], or [n] as [n, 1]; C or Fortran order, either byte order.
Decoded read_npy(const Input& input);

}  // namespace tessera::io
