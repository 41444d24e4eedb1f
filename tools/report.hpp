// SPDX-License-Identifier: Apache-2.0
// Here: what commands print about a run, as JSON and as text. Not here: the results themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tessera/io.hpp"
#include "tessera/result.hpp"

namespace tessera::cli {

// Keeps the keys in the order they are written. Only declared here: files that build objects include nlohmann/json.hpp,
// which is slow to compile.
using Json = nlohmann::ordered_json;

/// An input as the reports name it.
struct InputSummary {
  std::string path;
  std::string format;
  Index rows = 0;
  Index cols = 0;
  DType dtype = DType::f32;
};
InputSummary summarize(const RowFile& file);
Json to_json(const InputSummary& input);
/// "60,000 x 784 uint8 (idx)  train.gz"
std::string to_text(const InputSummary& input);

/// Wall-clock seconds of a command's stages.
struct StageSeconds {
  double read = 0;
  double prepare = 0;
  double pack = 0;  // of prepare
  double search = 0;
  double write = 0;
  double total = 0;
};
Json to_json(const StageSeconds& seconds);

/// "2.53 s (read 0.001 s, prepare 0.3 s (packing 0.2 s), search 2.2 s, write 0.02 s)"
std::string to_text(const StageSeconds& seconds);

/// Of a search of `rows` queries.
double pairs_per_second(const Report& report, const StageSeconds& seconds) noexcept;
double survivors_per_row(const Report& report, Index rows) noexcept;
/// What every search's object ends with, from `plan` to `warnings`.
void add_search(Json& json, const Report& report, const StageSeconds& seconds, Index rows, const std::vector<std::string>& warnings);

/// How the engine went about it: schedule, screen, tile sizes.
Json plan_json(const Report& report);
std::string plan_text(const Report& report);

/// Measures the time between its construction, or the last lap(), and now.
class Stopwatch {
 public:
  double lap();            ///< seconds since the last lap; starts the next
  double total() const;    ///< seconds since construction

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  Clock::time_point lap_ = start_;
};

/// Largest resident set of the process so far, mapped pages included.
std::uint64_t peak_rss_bytes();

std::string human_count(double count);         ///< "1.23 G", "45.6 k", "12"
std::string human_bytes(double bytes);         ///< "1.2 GiB"
std::string human_seconds(double seconds);     ///< "0.012 s", "12.3 s", "4 min 05 s", "2 h 03 min"
std::string grouped(Index count);              ///< "60,000"

/// One object, indented; bytes of a path that are not UTF-8 are replaced.
std::string json_text(const Json& json);
/// The same and a newline on stdout.
void print_json(const Json& json);
/// "tessera: warning: ..." on stderr, one line each.
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace tessera::cli
