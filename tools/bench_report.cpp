// SPDX-License-Identifier: Apache-2.0
#include "bench.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/info.hpp"

namespace tessera::cli {
namespace {

/// "Intel(R) Xeon(R) CPU", as Linux names it; "" elsewhere.
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

double rate(double count, const Spread& seconds) noexcept { return seconds.median > 0 ? count / seconds.median : 0; }

/// Two operations a column of every pair that was looked at, whatever a screen spends: the multiply-adds of a plain distance matrix
/// without the tiles that were never visited.
double useful_operations(const BenchRun& run) noexcept {
  return 2 * run.report.pairs * (1 - run.report.pruned_fraction) * static_cast<double>(run.base.cols);
}

double fraction_of_peak(const BenchRun& run, const MachinePeak& peak) noexcept {
  return peak.fp32 > 0 ? rate(useful_operations(run), run.search) / peak.fp32 : 0;
}

Json to_json(const Spread& spread) { return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}}; }

Json to_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const MachinePeak& peak) {
  return {{"fp32_flops", peak.fp32},
          {"fp32_isa", peak.fp32_isa},
          {"int8_ops", to_json(peak.int8)},
          {"bf16_flops", to_json(peak.bf16)}};
}

Json to_json(const BenchRun& run, const MachinePeak& peak) {
  Json json;
  json["base"] = to_json(run.base);
  json["queries"] = to_json(run.queries);
  json["k"] = run.k;
  json["plan"] = plan_json(run.report);
  json["seconds"] = {{"prepare", to_json(run.prepare)}, {"search", to_json(run.search)}, {"total", to_json(run.total)}};
  json["pairs_per_second"] = rate(run.report.pairs, run.search);
  json["flops"] = rate(useful_operations(run), run.search);
  json["fraction_of_peak"] = fraction_of_peak(run, peak);
  json["survivors_per_row"] = survivors_per_row(run.report, run.queries.rows);
  json["pruned_fraction"] = run.report.pruned_fraction;
  return json;
}

std::string peak_text(std::string_view name, const std::optional<double>& peak, std::string_view missing) {
  return peak ? fmt::format(", {} {}op/s", name, human_count(*peak)) : fmt::format(", {} {}", name, missing);
}

}  // namespace

Spread spread_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const std::size_t half = seconds.size() / 2;
  const double median = seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
  return {.median = median, .min = seconds.front(), .max = seconds.back()};
}

std::string bench_json(const BenchResult& result) {
  Json json;
  json["command"] = "bench";
  json["version"] = version();
  json["cpu"] = cpu_name();
  json["metric"] = std::string(name_of(result.metric));
  json["backend"] = result.runs.front().report.backend;
  json["isa"] = result.runs.front().report.isa;
  json["threads"] = result.threads;
  json["rounds"] = result.rounds;
  json["peak"] = to_json(result.peak);
  json["runs"] = Json::array();
  for (const BenchRun& run : result.runs) json["runs"].push_back(to_json(run, result.peak));
  json["peak_rss_bytes"] = peak_rss_bytes();
  return json_text(json);
}

std::string bench_text(const BenchResult& result) {
  const MachinePeak& peak = result.peak;
  std::string text;
  text += fmt::format("machine  {}, {} thread{}, {}\n", cpu_name(), result.threads, result.threads == 1 ? "" : "s",
                      result.runs.front().report.isa);
  text += fmt::format("peak     fp32 {}flop/s ({}){}{}, measured\n", human_count(peak.fp32), peak.fp32_isa,
                      peak_text("int8", peak.int8, "none"), peak_text("bf16", peak.bf16, "none"));
  text += fmt::format("search   {}; seconds are medians of {} rounds (fastest-slowest)\n\n", name_of(result.metric), result.rounds);
  text += fmt::format("{:>10} {:>10} {:>6} {:>5}  {:<12} {:>9} {:>9} {:>19} {:>12} {:>8} {:>10}\n", "queries", "base", "d", "k", "screen",
                      "prepare", "search", "", "pairs/s", "of peak", "survivors");
  for (const BenchRun& run : result.runs) {
    text += fmt::format("{:>10} {:>10} {:>6} {:>5}  {:<12} {:>8.3f}s {:>8.3f}s {:>19} {:>12} {:>6.0f} % {:>10.1f}\n", grouped(run.queries.rows),
                        grouped(run.base.rows), run.base.cols, run.k, run.report.screen, run.prepare.median, run.search.median,
                        fmt::format("({:.3f}-{:.3f})", run.search.min, run.search.max), human_count(rate(run.report.pairs, run.search)),
                        100 * fraction_of_peak(run, peak), survivors_per_row(run.report, run.queries.rows));
  }
  return text;
}

}  // namespace tessera::cli
