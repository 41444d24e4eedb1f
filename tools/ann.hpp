// SPDX-License-Identifier: Apache-2.0
// Here: what the commands of `tessera ann` share. Not here: FAISS (tessera/ann.hpp).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "args.hpp"
#include "report.hpp"
#include "tessera/ann.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

/// Flags of every ann command.
struct AnnArgs {
  std::string metric;
  std::string in_format;
  std::string threads;
  std::string memory;
  std::string out;
  bool force = false;
  PrintArgs print;
};
void add_ann_options(Flags& flags, AnnArgs& args);

int ann_threads(const AnnArgs& args);
std::uint64_t ann_memory(const AnnArgs& args);
/// throws  Error{unsupported} in a build without FAISS.
void check_has_ann();

/// "nprobe=1,4,16" given once or more, and "nprobe=16,efSearch=64" as FAISS writes it: values by name.
using SettingLists = std::vector<std::pair<std::string, std::vector<double>>>;
SettingLists parse_settings(const std::vector<std::string>& texts);

/// How the queries are read: their format, and --query-rows.
ReadOptions query_range(const AnnArgs& args, const std::string& range);

/// An index of the sweep and its points.
struct SweptIndex {
  std::string name;  // factory string, or file
  bool built = false;  // here: build times are known
  AnnBuildReport build;
  std::uint64_t bytes = 0;
  std::vector<SweepPoint> points;
};

struct SweepReport {
  InputSummary base;
  InputSummary queries;
  Metric metric = Metric::l2;
  Index k = 0;
  int threads = 0;
  std::string truth;
  Index truth_k = 0;
  ExactPoint exact;
  std::vector<SweptIndex> indexes;
  double seconds = 0;
  std::vector<std::string> warnings;
};
std::string sweep_json(const SweepReport& report);
std::string sweep_csv(const SweepReport& report);
std::string sweep_text(const SweepReport& report);

}  // namespace tessera::cli
