// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tessera/ann.hpp"

namespace tessera {

std::string to_string(const AnnSettings& settings) {
  std::string text;
  for (const AnnSetting& setting : settings) text += fmt::format("{}{}={}", text.empty() ? "" : ",", setting.name, setting.value);
  return text;
}

}  // namespace tessera
