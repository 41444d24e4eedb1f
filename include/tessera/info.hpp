// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/export.hpp"

namespace tessera {

/// The library's version, "major.minor.patch".
TESSERA_API std::string version();

/// What this build and this machine offer: optional parts found at configure time, instruction sets, threads.
struct BuildInfo {
  std::vector<std::pair<std::string, std::string>> features;   // name, "on (what was found)" or "off (why)"
  std::vector<std::string> isas_built;
  std::vector<std::string> isas_usable;                          // built, and offered by CPU and OS
  std::string isa;                                               // the one that runs
  int threads = 0;                                               // cores the process may use
};
TESSERA_API BuildInfo build_info();

}  // namespace tessera
