// SPDX-License-Identifier: Apache-2.0
#include "tessera/info.hpp"

#include "engine/registry.hpp"
#include "support/config.hpp"
#include "support/cpu.hpp"

namespace tessera {

std::string version() { return support::kVersion; }

BuildInfo build_info() {
  BuildInfo info;
  for (const auto& feature : support::kFeatures) info.features.emplace_back(feature.name, feature.state);
  info.isas_built = engine::isas_built();
  info.isas_usable = engine::isas_usable();
  info.isa = engine::select_kernels().isa;
  info.threads = support::usable_cores();
  return info;
}

}  // namespace tessera
