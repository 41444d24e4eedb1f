// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "tessera/graph.hpp"

namespace tessera {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kSymmetrize = {"none", "union", "mutual"};
constexpr std::array<std::string_view, 4> kWeights = {"distance", "connectivity", "heat", "jaccard"};

template <class T, std::size_t size>
std::optional<T> parse(const std::array<std::string_view, size>& names, std::string_view name) noexcept {
  for (std::size_t i = 0; i < size; ++i) {
    if (names[i] == name) return static_cast<T>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Symmetrize symmetrize) noexcept { return kSymmetrize[static_cast<std::size_t>(symmetrize)]; }
std::optional<Symmetrize> parse_symmetrize(std::string_view name) noexcept { return parse<Symmetrize>(kSymmetrize, name); }
std::string_view name_of(EdgeWeights weights) noexcept { return kWeights[static_cast<std::size_t>(weights)]; }
std::optional<EdgeWeights> parse_edge_weights(std::string_view name) noexcept { return parse<EdgeWeights>(kWeights, name); }

}  // namespace tessera
