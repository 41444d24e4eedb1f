// SPDX-License-Identifier: Apache-2.0
// A base prepared once and searched one query at a time; cosine; errors are exceptions with a sentence in them.
#include <cstdio>
#include <random>
#include <vector>

#include "tessera/tessera.hpp"

int main() {
  constexpr tessera::Index kRows = 5000;
  constexpr tessera::Index kCols = 64;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> base(static_cast<std::size_t>(kRows * kCols));
  for (float& x : base) x = normal(random);

  try {
    tessera::KnnOptions options;
    options.metric = {tessera::Metric::cosine};
    const tessera::PreparedBase prepared(tessera::dense(base.data(), kRows, kCols), options);
    for (const tessera::Index row : {0, 42, 4999}) {
      const auto nearest = prepared.search(tessera::dense(base.data() + row * kCols, 1, kCols), 3);
      std::printf("row %d: itself first %s, then row %d at %.4f\n", static_cast<int>(row), nearest.ids[0] == row ? "(yes)" : "(NO)",
                  static_cast<int>(nearest.ids[1]), static_cast<double>(nearest.distances[1]));
      if (nearest.ids[0] != row) return 1;
    }
  } catch (const tessera::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
