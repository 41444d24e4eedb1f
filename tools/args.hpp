// SPDX-License-Identifier: Apache-2.0
// Here: flags that several commands share, and turning their text into values. Not here: flags of one command.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fail.hpp"
#include "flags.hpp"
#include "progress.hpp"
#include "tessera/io.hpp"
#include "tessera/options.hpp"

namespace tessera::cli {

/// Flags that change how fast an answer comes and nothing else.
struct SpeedArgs {
  std::string threads;
  std::string memory;
  std::string backend = "auto";
  std::string screen = "auto";
  std::string tile;
  std::string schedule = "auto";
  std::string prune = "auto";
  std::string symmetric = "auto";
};
void add_speed_options(Flags& flags, SpeedArgs& args);

/// Checks the flags and sets the fields of `options` they name.
/// throws   Error: invalid_argument (unknown name, bad number), unsupported (known, but not in this build).
void apply_speed_options(const SpeedArgs& args, KnnOptions& options);

/// Flags about rows that are distributions.
struct DistributionArgs {
  std::string p;
  bool histogram = false;
  std::string support;
  std::string grid;
};
void add_distribution_options(Flags& flags, DistributionArgs& args);

/// The metric's order, and how files of distributions are read; both as they are when the metric is another.
/// throws   Error{invalid_argument}: a bad value, or a flag that the metric has no use for.
void apply_distribution_options(const DistributionArgs& args, MetricSpec& metric, DistributionOptions& read);

/// Flags about what is printed.
struct PrintArgs {
  bool json = false;
  bool quiet = false;
  std::string progress = "auto";
};
void add_print_options(Flags& flags, PrintArgs& args);

/// Rows [first, last) as typed in "A:B", ":B" or "A:"; last −1: to the end.
struct RowRange {
  Index first = 0;
  Index last = -1;
};
RowRange parse_row_range(std::string_view flag, std::string_view text);

/// "8G", "512M", "1.5GiB", "65536": bytes, in powers of 1,024.
std::uint64_t parse_memory(std::string_view text);

/// A whole number in [smallest, largest]. CLI11's own conversion would read "010" as octal 8.
std::int64_t parse_integer(std::string_view flag, std::string_view text, std::int64_t smallest, std::int64_t largest);

Metric parse_metric_flag(std::string_view text);

/// The file of "FILE" or "FILE:NAME".
std::string file_of(const std::string& path);
/// Whether two paths, each "FILE" or "FILE:NAME", lead to the same existing file.
bool same_file(const std::string& a, const std::string& b);
/// Whether they lead to the same array, too, as far as their names tell.
bool same_array(const std::string& a, const std::string& b);

/// "a, b, c", for messages and help.
std::string join(const std::vector<std::string>& words);

/// The value that `text` names.
/// throws   Error{invalid_argument} listing the names there are.
template <class T>
T choose(std::string_view flag, std::string_view text, std::initializer_list<std::pair<std::string_view, T>> choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.emplace_back(name);
  }
  fail(ErrorCode::invalid_argument, "{} {}: wanted one of {}", flag, text, join(names));
}

}  // namespace tessera::cli
