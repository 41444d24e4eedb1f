// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "tessera/recall.hpp"

namespace tessera {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 6> kNames = {"tie", "strict", "ann-benchmarks", "big-ann", "diskann", "faiss"};

}  // namespace

std::string_view name_of(RecallDefinition definition) noexcept { return kNames[static_cast<std::size_t>(definition)]; }

std::optional<RecallDefinition> parse_recall_definition(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<RecallDefinition>(i);
  }
  return std::nullopt;
}

}  // namespace tessera
