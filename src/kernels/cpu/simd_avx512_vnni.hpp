// SPDX-License-Identifier: Apache-2.0
// AVX-512 with VNNI: vpdpbusd takes all 8 bits and sums in 32.
#pragma once

#include "tessera/rows.hpp"

#include <immintrin.h>

#include <cstdint>

namespace tessera::kernels::avx512_vnni {

inline constexpr const char* kIsaName = "avx512_vnni";

#include "kernels/cpu/simd_avx512_types.inc"
#include "kernels/cpu/simd_avx512_dpbusd.inc"

}  // namespace tessera::kernels::avx512_vnni
