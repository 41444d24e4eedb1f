// SPDX-License-Identifier: Apache-2.0
#include "graph_presets.hpp"

#include <array>

#include <fmt/format.h>

#include "fail.hpp"

namespace tessera::cli {
namespace {

// Each was read in the consumer's source and is run against it by bench/graph_consumers.py.
constexpr std::array<GraphPreset, 6> kPresets = {{
    // KNeighborsTransformer(mode="distance") stores the row itself beside its n_neighbors, at an explicit zero.
    {.name = "sklearn",
     .summary = "CSR; the row itself at 0, then k neighbours, by distance (metric=\"precomputed\")",
     .self = SelfMode::first,
     .symmetrize = Symmetrize::none,
     .weights = EdgeWeights::distance,
     .extra_k = 1,
     .form = GraphForm::graph,
     .format = GraphFormat::csr_npz},
    {.name = "umap",
     .summary = "ids, distances [n, k]; the row itself first, counted in k (precomputed_knn)",
     .self = SelfMode::first,
     .symmetrize = Symmetrize::none,
     .weights = EdgeWeights::distance,
     .form = GraphForm::lists},
    // n_neighbors counts the cell itself, which obsp["distances"] does not store.
    {.name = "scanpy",
     .summary = "CSR as obsp[\"distances\"]; k counts the cell itself: k-1 stored",
     .self = SelfMode::exclude,
     .symmetrize = Symmetrize::none,
     .weights = EdgeWeights::distance,
     .extra_k = -1,
     .form = GraphForm::graph,
     .format = GraphFormat::csr_npz},
    {.name = "opentsne",
     .summary = "ids, distances [n, k] of other rows (PrecomputedNeighbors)",
     .self = SelfMode::exclude,
     .symmetrize = Symmetrize::none,
     .weights = EdgeWeights::distance,
     .form = GraphForm::lists},
    {.name = "pyg",
     .summary = "edge_index [2, E] from neighbour to row, edge_weight [E], num_nodes",
     .self = SelfMode::exclude,
     .form = GraphForm::graph,
     .format = GraphFormat::pyg_npz},
    {.name = "hdbscan",
     .summary = "CSR, symmetric by union; k at least min_samples (metric=\"precomputed\")",
     .self = SelfMode::exclude,
     .symmetrize = Symmetrize::union_,
     .weights = EdgeWeights::distance,
     .form = GraphForm::graph,
     .format = GraphFormat::csr_npz},
}};

}  // namespace

const GraphPreset* find_preset(std::string_view name) {
  if (name.empty()) return nullptr;
  for (const GraphPreset& preset : kPresets) {
    if (preset.name == name) return &preset;
  }
  fail(ErrorCode::invalid_argument, "--preset {}: wanted one of {}", name, preset_names());
}

std::string preset_names() {
  std::string text;
  for (const GraphPreset& preset : kPresets) text += fmt::format("{}{}", text.empty() ? "" : " | ", preset.name);
  return text;
}

std::string preset_lines() {
  std::string text;
  for (const GraphPreset& preset : kPresets) text += fmt::format("  {:<9} {}\n", preset.name, preset.summary);
  return text;
}

}  // namespace tessera::cli
