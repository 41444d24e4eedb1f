// SPDX-License-Identifier: Apache-2.0
#define TESSERA_ISA_HAS_BF16 1
#include "kernels/cpu/contract.hpp"
#include "kernels/cpu/simd_scalar.hpp"
#include "metrics/elements.hpp"

namespace tessera::kernels::scalar {
#include "kernels/cpu/generic_table.inc"
}  // namespace tessera::kernels::scalar
