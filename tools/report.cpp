// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::cli {
namespace {

/// "1.23", "45.6", "789": three digits that matter.
std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

}  // namespace

InputSummary summarize(const RowFile& file) {
  const RowSet& rows = file.rows();
  return {.path = file.path(), .format = file.format(), .rows = rows.rows, .cols = rows.cols, .dtype = rows.dtype};
}

Json to_json(const InputSummary& input) {
  return {{"path", input.path},
          {"rows", input.rows},
          {"cols", input.cols},
          {"dtype", std::string(name_of(input.dtype))},
          {"format", input.format}};
}

std::string to_text(const InputSummary& input) {
  return fmt::format("{} x {} {} ({})  {}", grouped(input.rows), grouped(input.cols), name_of(input.dtype),
                     input.format, input.path);
}

Json to_json(const StageSeconds& seconds) {
  return {{"read", seconds.read},
          {"prepare", seconds.prepare},
          {"pack", seconds.pack},
          {"search", seconds.search},
          {"write", seconds.write},
          {"total", seconds.total}};
}

std::string to_text(const StageSeconds& seconds) {
  return fmt::format("{} (read {}, prepare {} (packing {}), search {}, write {})", human_seconds(seconds.total), human_seconds(seconds.read),
                     human_seconds(seconds.prepare), human_seconds(seconds.pack), human_seconds(seconds.search), human_seconds(seconds.write));
}

double pairs_per_second(const Report& report, const StageSeconds& seconds) noexcept {
  return seconds.search > 0 ? report.pairs / seconds.search : 0;
}

double survivors_per_row(const Report& report, Index rows) noexcept {
  return rows > 0 ? static_cast<double>(report.survivors) / static_cast<double>(rows) : 0;
}

void add_search(Json& json, const Report& report, const StageSeconds& seconds, Index rows, const std::vector<std::string>& warnings) {
  json["plan"] = plan_json(report);
  json["seconds"] = to_json(seconds);
  json["pairs_per_second"] = pairs_per_second(report, seconds);
  json["survivors_per_row"] = survivors_per_row(report, rows);
  json["pruned_fraction"] = report.pruned_fraction;
  json["peak_rss_bytes"] = peak_rss_bytes();
  json["warnings"] = warnings;
}

Json plan_json(const Report& report) {
  return {{"schedule", report.schedule},   {"screen", report.screen},     {"tile_rows", report.tile_rows},
          {"tile_cols", report.tile_cols}, {"segments", report.segments}, {"splits", report.splits},
          {"pruned", report.pruned},       {"symmetric", report.symmetric}};
}

std::string plan_text(const Report& report) {
  return fmt::format("{} {}, {} thread{}, {}, screen {}, tiles of {} x {}, {} segment{}, {} split{}{}{}", report.backend,
                     report.isa, report.threads, report.threads == 1 ? "" : "s", report.schedule, report.screen,
                     report.tile_rows, report.tile_cols, report.segments, report.segments == 1 ? "" : "s",
                     report.splits, report.splits == 1 ? "" : "s", report.pruned ? ", pruned" : "",
                     report.symmetric ? ", symmetric" : "");
}

double Stopwatch::lap() {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - lap_).count();
  lap_ = now;
  return seconds;
}

double Stopwatch::total() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

std::uint64_t peak_rss_bytes() {
  // Not getrusage(): its peak goes back to before exec, to the memory of whoever called.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view kPeak = "VmHWM:";
    if (line.starts_with(kPeak)) return std::strtoull(line.c_str() + kPeak.size(), nullptr, 10) * 1024;  // kB
  }
  return 0;
}

std::string human_count(double count) {
  constexpr std::array<std::string_view, 5> units = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (count >= 999.5 && unit + 1 < units.size()) {
    count /= 1000;
    ++unit;
  }
  return (unit == 0 ? fmt::format("{:.0f}", count) : three_digits(count)) + std::string(units[unit]);
}

std::string human_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 99.95 ? 0 : 1, units[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds < 0.9995) return fmt::format("{:.3f} s", seconds);
  if (seconds < 99.95) return three_digits(seconds) + " s";
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 1e15));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string grouped(Index count) {
  const std::string digits = fmt::format("{}", count);
  std::string text;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    const bool after_digit = at > 0 && digits[at - 1] != '-';
    if (after_digit && (digits.size() - at) % 3 == 0) text += ',';
    text += digits[at];
  }
  return text;
}

std::string json_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

void print_json(const Json& json) { fmt::print("{}\n", json_text(json)); }

void print_warnings(const std::vector<std::string>& warnings) {
  for (const auto& warning : warnings) fmt::print(stderr, "tessera: warning: {}\n", warning);
}

}  // namespace tessera::cli
