// SPDX-License-Identifier: Apache-2.0
// Here: what each consumer of kNN graphs expects. Not here: making or writing graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/graph.hpp"

namespace tessera::cli {

/// What a file holds: neighbour lists, or a graph.
enum class GraphForm : std::uint8_t { lists, graph };

/// A consumer's wishes. Values that are set are the only ones that consumer reads rightly, so a flag must not change them.
struct GraphPreset {
  std::string_view name;
  std::string_view summary;                  // for --help
  std::optional<SelfMode> self{};
  std::optional<Symmetrize> symmetrize{};
  std::optional<EdgeWeights> weights{};
  Index extra_k = 0;                         // list length minus -k: the consumer counts the row itself, or does not
  std::optional<GraphForm> form{};
  std::optional<GraphFormat> format{};       // of an .npz
};

/// The preset of that name; null for "".
/// throws   Error{invalid_argument} listing the names there are.
const GraphPreset* find_preset(std::string_view name);

/// "sklearn | umap | ...", for --help.
std::string preset_names();
/// A line a preset, for --help.
std::string preset_lines();

}  // namespace tessera::cli
