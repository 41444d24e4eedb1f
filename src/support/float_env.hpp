// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include <cfenv>

namespace tessera::support {

/// Sets round-to-nearest without flush-to-zero or denormals-are-zero for its lifetime, then restores what was there.
///
/// Worker threads inherit whatever the host program did (Python extensions built with -ffast-math set FTZ and DAZ at
/// load time, and DAZ makes (double)1e-40f zero), so every task opens one.
class StrictFloatEnv {
 public:
  StrictFloatEnv() noexcept {
    std::fegetenv(&saved_);
    std::fesetround(FE_TONEAREST);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() & ~(0x8000u | 0x0040u | 0x6000u));  // FTZ, DAZ, rounding control
#endif
  }
  ~StrictFloatEnv() { std::fesetenv(&saved_); }
  StrictFloatEnv(const StrictFloatEnv&) = delete;
  StrictFloatEnv& operator=(const StrictFloatEnv&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace tessera::support
