// SPDX-License-Identifier: Apache-2.0
// One query, or a batch of them, at a time against a base that was prepared once: the latency a service sees. bench/one_query.py runs and
// compares.
//   one_query BASE QUERIES K THREADS SCREEN CALLS BATCH...    JSON on stdout: seconds of preparing; for every batch size, those of CALLS
//                                                             calls, and the ids of all of them; they take the file's queries in turn
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tessera/tessera.hpp"

namespace {

using tessera::Index;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : ",") + item; }

/// Calls of `batch` queries each, as a JSON member.
std::string timed(const tessera::PreparedBase& prepared, const tessera::RowSet& queries, Index batch, Index calls, Index k, const tessera::KnnOptions& options) {
  std::string seconds;
  std::string ids;
  std::string screen;
  for (Index call = -1; call < calls; ++call) {  // the first warms up
    const Index first = std::max<Index>(call, 0) * batch % (queries.rows - batch + 1);
    const auto rows = tessera::slice(queries, first, first + batch);
    const auto start = std::chrono::steady_clock::now();
    const auto found = prepared.search(rows, k, options);
    if (call < 0) continue;
    append(seconds, std::to_string(seconds_since(start)));
    for (const auto id : found.ids) append(ids, std::to_string(id));
    screen = found.report.screen + " " + found.report.schedule + " " + std::to_string(found.report.tile_rows) + "x" + std::to_string(found.report.tile_cols) + "/" +
             std::to_string(found.report.splits) + ", survivors " + std::to_string(found.report.survivors / batch) + ", refined " + std::to_string(found.report.refined / batch);
  }
  return "\"" + std::to_string(batch) + "\":{\"plan\":\"" + screen + "\",\"seconds\":[" + seconds + "],\"ids\":[" + ids + "]}";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(stderr, "usage: one_query BASE QUERIES K THREADS SCREEN CALLS BATCH...\n");
    return 2;
  }
  try {
    const auto base = tessera::RowFile::open(argv[1]);
    const auto queries = tessera::RowFile::open(argv[2]);
    const Index k = std::atoll(argv[3]);
    tessera::KnnOptions options;
    options.threads = std::atoi(argv[4]);
    options.screen = tessera::parse_screen(argv[5]).value();
    const tessera::PreparedBase prepared(base.rows(), options);
    std::string batches;
    for (int a = 7; a < argc; ++a) append(batches, timed(prepared, queries.rows(), std::atoll(argv[a]), std::atoll(argv[6]), k, options));
    std::printf("{\"prepare\":%g,\"batches\":{%s}}\n", prepared.seconds(), batches.c_str());
  } catch (const tessera::Error& error) {
    std::fprintf(stderr, "one_query: %s\n", error.what());
    return 1;
  }
}
