// SPDX-License-Identifier: Apache-2.0
#include "args.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include "numbers.hpp"

namespace tessera::cli {
namespace {

// Screens of the command line that no build has yet; asking for one is no typing error.
constexpr std::array<std::string_view, 1> kScreensToCome = {"blas"};
constexpr std::int64_t kMostThreads = 65'536;  // chosen: far past any machine, so that a slip is caught here

Screen parse_screen_flag(std::string_view text) {
  if (const auto screen = parse_screen(text)) return *screen;
  if (std::find(kScreensToCome.begin(), kScreensToCome.end(), text) != kScreensToCome.end()) {
    fail(ErrorCode::unsupported, "--screen {}: unsupported in this build; auto picks the fastest it has", text);
  }
  fail(ErrorCode::invalid_argument, "--screen {}: wanted one of auto, int8, bf16, fp32, fp32-dot, fp32-direct, double", text);
}

BackendKind parse_backend_flag(std::string_view text) {
  return choose<BackendKind>("--backend", text, {{"auto", BackendKind::automatic}, {"cpu", BackendKind::cpu}, {"cuda", BackendKind::cuda}});
}

/// Powers of 1,024 that a suffix such as "G", "GB" or "GiB" stands for; −1: no such suffix.
int memory_exponent(std::string_view suffix) noexcept {
  if (suffix.empty() || suffix == "B" || suffix == "b") return 0;
  constexpr std::string_view letters = "KMGT";
  const char letter = suffix[0] >= 'a' && suffix[0] <= 'z' ? static_cast<char>(suffix[0] - 'a' + 'A') : suffix[0];
  const auto at = letters.find(letter);
  const std::string_view rest = suffix.substr(1);
  if (at == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB")) return -1;
  return static_cast<int>(at) + 1;
}

/// The order of a Wasserstein distance: a number of at least 1, or inf.
double parse_order(std::string_view text) {
  double p = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, p);
  if (status != std::errc{} || rest != end || !(p >= 1)) fail(ErrorCode::invalid_argument, "--p {}: wanted a number of at least 1, or inf", text);
  return p;
}

/// Reads one end of a range into `bound`; empty leaves it alone. False: not a row number.
bool read_bound(std::string_view text, Index& bound) noexcept {
  if (text.empty()) return true;
  const auto row = read_number<Index>(text);
  if (row) bound = *row;
  return row && *row >= 0;
}

}  // namespace

void add_speed_options(Flags& flags, SpeedArgs& args) {
  flags.value("--threads N", args.threads, kGroupSpeed, "Worker threads (default: the cores the process may use)");
  flags.value("--memory SIZE", args.memory, kGroupSpeed,
              "Budget for buffers, e.g. 8G or 512M (default: half of what is free)");
  flags.value("--backend NAME", args.backend, kGroupSpeed, "auto | cpu | cuda");
  flags.value("--screen NAME", args.screen, kGroupSpeed,
              "How pairs are dismissed before double precision: auto | int8 | bf16 | fp32 | fp32-dot | fp32-direct | double");
  flags.value("--tile N", args.tile, kGroupSpeed, "Base rows per tile (default: from the cache sizes)");
  flags.value("--prune NAME", args.prune, kGroupSpeed,
              "Reorder the base into compact tiles and never visit far ones: auto (low dimensions) | on | off");
  flags.value("--symmetric NAME", args.symmetric, kGroupSpeed,
              "A set in itself: compute each pair of rows once, for both: auto | on | off");
  flags.value("--schedule NAME", args.schedule, kGroupSpeed, "Who works on what: auto | by-query | by-base");
}

void apply_speed_options(const SpeedArgs& args, KnnOptions& options) {
  options.backend = parse_backend_flag(args.backend);
  options.screen = parse_screen_flag(args.screen);
  const auto schedule = parse_schedule(args.schedule);
  if (!schedule) {
    fail(ErrorCode::invalid_argument, "--schedule {}: wanted one of auto, by-query, by-base", args.schedule);
  }
  options.schedule = *schedule;
  options.prune = choose<Pruning>("--prune", args.prune, {{"auto", Pruning::automatic}, {"on", Pruning::on}, {"off", Pruning::off}});
  options.symmetric = choose<Symmetry>("--symmetric", args.symmetric, {{"auto", Symmetry::automatic}, {"on", Symmetry::on}, {"off", Symmetry::off}});
  if (!args.tile.empty()) {
    options.tile = parse_integer("--tile", args.tile, 1, std::numeric_limits<std::int64_t>::max());
  }
  if (!args.threads.empty()) {
    options.threads = static_cast<int>(parse_integer("--threads", args.threads, 1, kMostThreads));
  }
  if (!args.memory.empty()) options.memory = parse_memory(args.memory);
}

void add_distribution_options(Flags& flags, DistributionArgs& args) {
  flags.value("--p N", args.p, kGroupSearch, "wasserstein: the order, any number from 1 on, or inf (default: 1)");
  flags.toggle("--histogram", args.histogram, kGroupInput, "wasserstein: rows are counts on a common support, 0, 1, 2, ... or --support");
  flags.value("--support FILE", args.support, kGroupInput, "wasserstein: the points that histograms count at");
  flags.value("--grid R,C", args.grid, kGroupInput, "wasserstein: the distributions are the cells of a grid of R rows and C columns");
}

void apply_distribution_options(const DistributionArgs& args, MetricSpec& metric, DistributionOptions& read) {
  if (metric.metric != Metric::wasserstein) {
    const std::string_view flag = !args.p.empty() ? "--p" : args.histogram ? "--histogram" : !args.support.empty() ? "--support" : !args.grid.empty() ? "--grid" : "";
    if (!flag.empty()) fail(ErrorCode::invalid_argument, "{}: only with -m wasserstein, not with {}", flag, name_of(metric.metric));
    return;
  }
  if (!args.p.empty()) metric.p = parse_order(args.p);
  if (!args.support.empty() && !args.histogram) fail(ErrorCode::invalid_argument, "--support {}: only with --histogram, whose counts stand at these points", args.support);
  read = {.wanted = true, .histogram = args.histogram, .support = args.support};
  if (args.grid.empty()) return;
  const auto comma = args.grid.find(',');
  if (comma == std::string::npos) fail(ErrorCode::invalid_argument, "--grid {}: wanted R,C: rows and columns of the grid", args.grid);
  read.grid_rows = parse_integer("--grid", args.grid.substr(0, comma), 1, std::numeric_limits<std::int32_t>::max());
  read.grid_cols = parse_integer("--grid", args.grid.substr(comma + 1), 1, std::numeric_limits<std::int32_t>::max());
}

void add_print_options(Flags& flags, PrintArgs& args) {
  flags.toggle("--json", args.json, kGroupOutput, "Print one JSON object, and nothing else, on stdout");
  flags.toggle("-q,--quiet", args.quiet, kGroupOutput,
               "No progress, no summary, no warnings: results and errors only");
  flags.value("--progress MODE", args.progress, kGroupOutput,
              "auto: a bar on a terminal | never | plain: a line now and then, for logs. Always on stderr");
}

RowRange parse_row_range(std::string_view flag, std::string_view text) {
  RowRange range;
  if (text.empty()) return range;
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || !read_bound(text.substr(0, colon), range.first) ||
      !read_bound(text.substr(colon + 1), range.last)) {
    fail(ErrorCode::invalid_argument, "{} {}: wanted A:B, rows A to B-1 counted from 0 (A: and :B leave an end open)",
         flag, text);
  }
  if (range.last >= 0 && range.last < range.first) {
    fail(ErrorCode::invalid_argument, "{} {}: the range ends before it starts", flag, text);
  }
  return range;
}

std::uint64_t parse_memory(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  const int exponent = memory_exponent({rest, static_cast<std::size_t>(end - rest)});
  const double bytes = std::ldexp(value, 10 * std::max(exponent, 0));
  // 2^63, so that the cast below is defined and sums of a few budgets don't wrap.
  if (status != std::errc{} || exponent < 0 || !(bytes >= 1) || bytes >= 0x1p63) {
    fail(ErrorCode::invalid_argument, "--memory {}: wanted a size such as 8G, 1.5G or 512M", text);
  }
  return static_cast<std::uint64_t>(bytes);
}

std::int64_t parse_integer(std::string_view flag, std::string_view text, std::int64_t smallest, std::int64_t largest) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, value);
  if (status == std::errc::result_out_of_range) {
    fail(ErrorCode::invalid_argument, "{} {}: past the largest 64-bit number", flag, text);
  }
  if (status != std::errc{} || rest != end) {
    fail(ErrorCode::invalid_argument, "{} {}: wanted a whole number", flag, text);
  }
  if (value < smallest || value > largest) {
    if (value < smallest) fail(ErrorCode::invalid_argument, "{} {}: wanted at least {}", flag, text, smallest);
    fail(ErrorCode::invalid_argument, "{} {}: wanted at most {}", flag, text, largest);
  }
  return value;
}

Metric parse_metric_flag(std::string_view text) {
  const auto metric = parse_metric(text);
  if (!metric) fail(ErrorCode::invalid_argument, "--metric {}: wanted one of {}", text, metric_names());
  return *metric;
}

std::string file_of(const std::string& path) {
  std::error_code ignored;
  const auto colon = path.rfind(':');
  if (colon == std::string::npos || std::filesystem::exists(path, ignored)) return path;
  return path.substr(0, colon);
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;  // a file that does not exist is no other file's twin
  return std::filesystem::equivalent(file_of(a), file_of(b), ignored);
}

bool same_array(const std::string& a, const std::string& b) {
  return same_file(a, b) && a.substr(file_of(a).size()) == b.substr(file_of(b).size());
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace tessera::cli
