// SPDX-License-Identifier: Apache-2.0
#include "tessera/info.hpp"

#include "engine/registry.hpp"
#include "kernels/cuda/runtime.hpp"
#include "support/config.hpp"
#include "support/cpu.hpp"

namespace tessera {

std::string version() { return support::kVersion; }

namespace {

CudaInfo cuda_info() {
  const cuda::Offer offer = cuda::look_for_devices();
  CudaInfo info{.toolkit = offer.toolkit, .driver = offer.driver, .gpus = {}, .unavailable = offer.unavailable};
  for (const cuda::DeviceProperties& device : offer.devices) {
    info.gpus.push_back({.name = device.name,
                         .compute_capability = std::to_string(device.arch / 10) + "." + std::to_string(device.arch % 10),
                         .multiprocessors = device.multiprocessors,
                         .memory = device.memory_total,
                         .usable = device.arch >= cuda::kOldestArch});
  }
  return info;
}

}  // namespace

BuildInfo build_info() {
  BuildInfo info;
  for (const auto& feature : support::kFeatures) info.features.emplace_back(feature.name, feature.state);
  info.isas_built = engine::isas_built();
  info.isas_usable = engine::isas_usable();
  info.isa = engine::select_kernels().isa;
  info.threads = support::usable_cores();
  info.cuda = cuda_info();
  return info;
}

}  // namespace tessera
