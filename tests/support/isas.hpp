// SPDX-License-Identifier: Apache-2.0
// Here: choosing the instruction set that a test runs on.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/registry.hpp"

namespace tessera::testing {

/// Forces an instruction set for its lifetime, then restores what was forced before.
class ForcedIsa {
 public:
  explicit ForcedIsa(const std::string& isa) {
    if (const char* before = std::getenv(kVariable)) before_ = before;
    ::setenv(kVariable, isa.c_str(), 1);
  }
  ~ForcedIsa() {
    if (before_.empty()) {
      ::unsetenv(kVariable);
    } else {
      ::setenv(kVariable, before_.c_str(), 1);
    }
  }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  static constexpr const char* kVariable = "TESSERA_FORCE_ISA";
  std::string before_;
};

/// Usable instruction sets; those built but not usable are printed, once, as skipped.
inline const std::vector<std::string>& isas() {
  static const std::vector<std::string> usable = [] {
    std::vector<std::string> names = engine::isas_usable();
    for (const std::string& name : engine::isas_built()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) std::printf("skipped: %s, which this CPU cannot run\n", name.c_str());
    }
    return names;
  }();
  return usable;
}

/// The kernels of one instruction set.
inline const kernels::CpuKernels& kernels_of(const std::string& isa) {
  const ForcedIsa forced(isa);
  return engine::select_kernels();
}

}  // namespace tessera::testing
