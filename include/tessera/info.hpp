// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/export.hpp"

namespace tessera {

/// The library's version, "major.minor.patch".
TESSERA_API std::string version();

/// A GPU that the driver offers.
struct GpuInfo {
  std::string name;
  std::string compute_capability;  // "9.0"
  int multiprocessors = 0;
  std::uint64_t memory = 0;        // bytes
  bool usable = false;             // kernels of this build run on it
};

/// What there is to run the cuda backend with. Versions are "13.0", or empty.
struct CudaInfo {
  std::string toolkit;        // that the build was made with; empty: built without CUDA
  std::string driver;         // the newest CUDA that the installed driver serves; empty: none is installed
  std::vector<GpuInfo> gpus;
  std::string unavailable;    // why the backend cannot run here, and what to do; empty: it can
};

/// What this build and this machine offer: optional parts found at configure time, instruction sets, threads, GPUs.
struct BuildInfo {
  std::vector<std::pair<std::string, std::string>> features;   // name, "on (what was found)" or "off (why)"
  std::vector<std::string> isas_built;
  std::vector<std::string> isas_usable;                          // built, and offered by CPU and OS
  std::string isa;                                               // the one that runs
  int threads = 0;                                               // cores the process may use
  CudaInfo cuda;
};
TESSERA_API BuildInfo build_info();

}  // namespace tessera
