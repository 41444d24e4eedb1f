// SPDX-License-Identifier: Apache-2.0
// The exact nearest rows of two queries among four base rows.
#include <cstdio>
#include <vector>

#include "tessera/tessera.hpp"

int main() {
  const std::vector<float> base = {0, 0, 3, 4, 6, 8, 1, 1};     // [4, 2]
  const std::vector<float> queries = {0, 0, 6, 7};              // [2, 2]
  const auto nearest = tessera::knn(tessera::dense(queries.data(), 2, 2), tessera::dense(base.data(), 4, 2), 2);
  for (tessera::Index q = 0; q < nearest.rows; ++q) {
    for (tessera::Index i = 0; i < nearest.k; ++i) {
      const auto slot = static_cast<std::size_t>(q * nearest.k + i);
      std::printf("query %d: row %d at %.4f\n", static_cast<int>(q), static_cast<int>(nearest.ids[slot]),
                  static_cast<double>(nearest.distances[slot]));
    }
  }
}
