// SPDX-License-Identifier: Apache-2.0
// Here: what tensor cores compute, in integers, by the rows of kernels/cuda/tensor_arch.hpp. Not here: fragments (tensor_shim.cpp).
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cuda/tensor_arch.hpp"

namespace tessera::testing {

/// c + the sum of a_t b_t, bf16 by their bits; as many products as the architecture adds at once, or a multiple of that.
float tensor_sum(const cuda::TensorArch& arch, float c, std::span<const std::uint16_t> a, std::span<const std::uint16_t> b);

}  // namespace tessera::testing
