// SPDX-License-Identifier: Apache-2.0
// One query at a time against a base that was prepared once: the latency a service sees. bench/one_query.py builds, runs and compares.
//   one_query BASE QUERIES K THREADS    JSON on stdout: seconds of preparing, and of every query; its ids
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tessera/tessera.hpp"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: one_query BASE QUERIES K THREADS\n");
    return 2;
  }
  try {
    const auto base = tessera::RowFile::open(argv[1]);
    const auto queries = tessera::RowFile::open(argv[2]);
    const tessera::Index k = std::atoll(argv[3]);
    tessera::KnnOptions options;
    options.threads = std::atoi(argv[4]);
    const tessera::PreparedBase prepared(base.rows(), options);
    std::string seconds;
    std::string ids;
    prepared.search(tessera::slice(queries.rows(), 0, 1), k, options);  // warms up
    for (tessera::Index q = 0; q < queries.rows().rows; ++q) {
      const auto start = std::chrono::steady_clock::now();
      const auto found = prepared.search(tessera::slice(queries.rows(), q, q + 1), k, options);
      seconds += (q > 0 ? "," : "") + std::to_string(seconds_since(start));
      for (const auto id : found.ids) ids += (ids.empty() ? "" : ",") + std::to_string(id);
    }
    std::printf("{\"prepare\":%g,\"seconds\":[%s],\"ids\":[%s]}\n", prepared.seconds(), seconds.c_str(), ids.c_str());
  } catch (const tessera::Error& error) {
    std::fprintf(stderr, "one_query: %s\n", error.what());
    return 1;
  }
}
