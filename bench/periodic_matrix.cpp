// SPDX-License-Identifier: Apache-2.0
// A full matrix of periodic distances in memory, by the tiles that a dump writes. bench/compare_periodic.py builds, runs and compares.
//   periodic_matrix POINTS CELL THREADS ROUNDS    JSON on stdout: seconds of every round after one that warms up, and the sum of all values
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tessera/tessera.hpp"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: periodic_matrix POINTS CELL THREADS ROUNDS\n");
    return 2;
  }
  try {
    const auto points = tessera::RowFile::open(argv[1]);
    tessera::DistanceOptions options;
    options.metric = {.metric = tessera::Metric::periodic, .cell = tessera::parse_cell(argv[2])};
    options.threads = std::atoi(argv[3]);
    tessera::DistanceArray matrix;
    std::string seconds;
    for (int round = 0; round <= std::atoi(argv[4]); ++round) {
      const auto start = std::chrono::steady_clock::now();
      tessera::distance_matrix(points.rows(), options, matrix);
      const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (round > 0) seconds += (round > 1 ? "," : "") + std::to_string(taken);
    }
    const auto* values = reinterpret_cast<const float*>(matrix.data());
    double sum = 0;
    for (tessera::Index i = 0; i < points.rows().rows * points.rows().rows; ++i) sum += static_cast<double>(values[i]);
    std::printf("{\"seconds\":[%s],\"sum\":%.9g}\n", seconds.c_str(), sum);
  } catch (const tessera::Error& error) {
    std::fprintf(stderr, "periodic_matrix: %s\n", error.what());
    return 1;
  }
  return 0;
}
