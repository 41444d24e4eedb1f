// SPDX-License-Identifier: Apache-2.0
// Here: how fast this machine multiplies and adds at best, measured. Not here: Tessera's own kernels, which are held against it.
#pragma once

#include <optional>
#include <string>

namespace tessera::cli {

/// Operations a second of all threads together, a fused multiply-add counting as two. Empty: the CPU has no instruction for it,
/// or this build knows none.
struct MachinePeak {
  double fp32 = 0;
  std::string fp32_isa;         ///< the instruction set that reached it: "scalar", "avx2", "avx512"
  std::optional<double> int8;   ///< u8 × s8 into int32 (vpdpbusd)
  std::optional<double> bf16;   ///< bfloat16 pairs into float32 (vdpbf16ps)
};

/// Runs each kernel on every thread at once, several times, and keeps the best: anything else on the machine lowers it.
///
/// threads  ≥ 1.
/// cost     about a tenth of a second a kernel and repetition.
MachinePeak measure_peak(int threads);

}  // namespace tessera::cli
