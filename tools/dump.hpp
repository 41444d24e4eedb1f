// SPDX-License-Identifier: Apache-2.0
// Here: what `tessera dump` was asked, what it did, and reporting it. Not here: doing it (dump.cpp).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "args.hpp"
#include "cell_args.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "tessera/dump.hpp"

namespace tessera::cli {

/// The command line as typed.
struct DumpArgs {
  std::string base;
  std::string cols;
  std::string base_rows;
  std::string cols_rows;
  std::string in_format;
  std::string metric = "l2";
  CellArgs cell;
  DistributionArgs distribution;
  std::string out;
  std::string dtype;
  std::string compress;
  std::string shard;
  std::string pool;
  std::string lengths;
  bool batched = false;
  bool exact = false;
  bool condensed = false;
  bool resume = false;
  bool verify = false;
  bool dry_run = false;
  bool force = false;
  PrintArgs print;
  SpeedArgs speed;
};

/// What is compared with what.
struct DumpInputs {
  RowFile base;
  std::optional<RowFile> cols;  // absent: the base with itself

  RowSet x;
  std::optional<RowSet> y;
  Index batches = 1;
  std::vector<Index> lengths;  // of --lengths
  std::vector<double> means;   // what x views under --pool
  const RowSet* columns() const noexcept { return y ? &*y : nullptr; }
};

/// "2/8", or "auto": the process's number and how many there are, from SLURM's or MPI's variables.
std::pair<Index, Index> parse_shard(const std::string& text);

/// Bytes a second that this machine computes and writes, measured for a moment.
struct DumpEstimate {
  double compute_bytes_per_second = 0;
  double write_bytes_per_second = 0;
  double free_bytes = 0;
};
DumpEstimate estimate_dump(const DumpInputs& inputs, const DistanceOptions& options, const std::string& folder);

std::string dump_json(const DumpArgs& args, const DumpInputs& inputs, const DumpReport& report, const StageSeconds& seconds,
                      const std::optional<DumpEstimate>& estimate);
std::string dump_text(const DumpArgs& args, const DumpInputs& inputs, const DumpReport& report, const StageSeconds& seconds,
                      const std::optional<DumpEstimate>& estimate);

}  // namespace tessera::cli
