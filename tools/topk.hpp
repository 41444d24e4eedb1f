// SPDX-License-Identifier: Apache-2.0
// Here: what `tessera topk` was asked, what it found, and reporting it. Not here: doing it (topk.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "args.hpp"
#include "cell_args.hpp"
#include "filter_args.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "tessera/io.hpp"
#include "tessera/options.hpp"
#include "tessera/result.hpp"

namespace tessera::cli {

/// The command line as typed.
struct TopkArgs {
  std::string base;
  std::string queries;
  std::string base_rows;
  std::string query_rows;
  std::string in_format;
  std::string k;
  std::string metric = "l2";
  CellArgs cell;
  FilterArgs filter;
  std::string images = "nearest";
  std::string shifts;
  DistributionArgs distribution;
  std::string self;
  std::string nan = "error";
  std::string distances = "float32";
  std::string ids = "int64";
  std::string out;
  bool force = false;
  PrintArgs print;
  SpeedArgs speed;
};

/// The command line understood: nothing in it is wrong in itself.
struct Request {
  KnnOptions knn;
  Index k = 0;
  ReadOptions read_base;
  ReadOptions read_queries;
  WriteOptions write;
  ProgressMode progress = ProgressMode::automatic;

  bool self_search() const noexcept { return knn.self != SelfMode::none; }
};

/// What is searched, and what for.
struct Inputs {
  RowFile base;
  std::optional<RowFile> queries;  // absent: the base's own rows

  const RowFile& query_file() const noexcept { return queries ? *queries : base; }
};

/// The result of the search and what it took.
struct Outcome {
  Neighbours neighbours;
  StageSeconds seconds;
  std::vector<std::string> warnings;
};

/// What the user should know about the answer: padding, zero rows, skipped rows.
std::vector<std::string> find_warnings(const TopkArgs& args, const Request& request, const Inputs& inputs,
                                       const Report& report);

/// The object of docs/cli.md, as text.
std::string report_json(const TopkArgs& args, const Request& request, const Inputs& inputs, const Outcome& outcome);
/// The summary: a line a topic.
std::string report_text(const TopkArgs& args, const Request& request, const Inputs& inputs, const Outcome& outcome);

}  // namespace tessera::cli
