// SPDX-License-Identifier: Apache-2.0
// Here: what `tessera bench` measured, and reporting it. Not here: measuring (bench.cpp, peak.cpp).
#pragma once

#include <string>
#include <vector>

#include "peak.hpp"
#include "report.hpp"
#include "tessera/options.hpp"
#include "tessera/result.hpp"

namespace tessera::cli {

/// Median, smallest and largest of one stage's seconds over the rounds.
struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};
Spread spread_of(std::vector<double> seconds);

/// One search, repeated.
struct BenchRun {
  InputSummary base;
  InputSummary queries;
  Index k = 0;
  Report report;      // of the last round: the plan, pairs, survivors
  Spread prepare;
  Spread search;
  Spread total;       // prepare + search of each round
};

struct BenchResult {
  Metric metric = Metric::l2;
  Index rounds = 0;
  int threads = 0;
  MachinePeak peak;
  std::vector<BenchRun> runs;
};

std::string bench_json(const BenchResult& result);
/// A table, one run a line.
std::string bench_text(const BenchResult& result);

}  // namespace tessera::cli
