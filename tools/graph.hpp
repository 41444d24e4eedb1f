// SPDX-License-Identifier: Apache-2.0
// Here: what `tessera graph` was asked, what it found, and reporting it. Not here: doing it (graph.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "args.hpp"
#include "cell_args.hpp"
#include "graph_presets.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "tessera/graph.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

/// The command line as typed.
struct GraphArgs {
  std::string base;
  std::string base_rows;
  std::string in_format;
  std::string k;
  std::string metric = "l2";
  CellArgs cell;
  DistributionArgs distribution;
  std::string self;
  std::string nan = "error";
  std::string symmetrize;
  std::string weights;
  std::string sigma;
  std::string preset;
  std::string distances = "float32";
  std::string out;
  bool force = false;
  PrintArgs print;
  SpeedArgs speed;
};

/// The command line understood.
struct GraphRequest {
  KnnOptions knn;
  Index k = 0;       // as typed
  Index list_k = 0;  // neighbours searched a row
  const GraphPreset* preset = nullptr;
  GraphOptions graph;
  GraphForm form = GraphForm::graph;
  GraphFormat format = GraphFormat::csr_npz;
  ReadOptions read;
  ProgressMode progress = ProgressMode::automatic;
};

struct GraphOutcome {
  Neighbours lists;
  CsrGraph graph;
  GraphComponents components;
  Index duplicates = 0;
  StageSeconds seconds;
  std::vector<std::string> warnings;
};

std::vector<std::string> graph_warnings(const GraphRequest& request, const RowFile& base, const GraphOutcome& outcome);
std::string graph_json(const GraphArgs& args, const GraphRequest& request, const RowFile& base, const GraphOutcome& outcome);
std::string graph_text(const GraphArgs& args, const GraphRequest& request, const RowFile& base, const GraphOutcome& outcome);

}  // namespace tessera::cli
