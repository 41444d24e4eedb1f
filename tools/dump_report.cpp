// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "dump.hpp"
#include "tessera/info.hpp"

namespace tessera::cli {
namespace {

/// Rank and size under the launchers in use.
constexpr std::pair<const char*, const char*> kLaunchers[] = {
    {"SLURM_PROCID", "SLURM_NTASKS"}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}};

struct CountOnly final : DistanceSink {
  void begin(const TileGrid&) override {}
  void put(const ValueTile&) override {}
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Computes growing corners of the matrix until a fifth of a second has gone by.
double compute_rate(const DumpInputs& inputs, DistanceOptions options) {
  const RowSet& columns = inputs.y ? *inputs.y : inputs.x;
  options.shard = 0;
  options.shards = 1;
  options.batches = 1;
  options.lengths.clear();
  double rate = 0;
  for (Index n = 512;; n *= 2) {
    const RowSet x = slice(inputs.x, 0, std::min(n, inputs.x.rows));
    const RowSet y = slice(columns, 0, std::min(n, columns.rows));
    if (x.rows == 0 || y.rows == 0) return 0;
    CountOnly sink;
    const auto start = std::chrono::steady_clock::now();
    const DistanceReport report = distance_matrix(x, y, options, sink);
    const double seconds = seconds_since(start);
    rate = report.bytes / std::max(seconds, 1e-9);
    if (seconds > 0.2 || (x.rows == inputs.x.rows && y.rows == columns.rows)) return rate;
  }
}

/// Writes 64 MiB where the dump will be, to the disk, and removes them.
double write_rate(const std::string& folder) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const std::string path = (std::filesystem::path(folder) / fmt::format(".tessera-speed-{}", getpid())).string();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  const std::vector<char> block(std::size_t{4} << 20, 'x');
  const auto start = std::chrono::steady_clock::now();
  bool good = true;
  for (std::size_t done = 0; good && done < kBytes; done += block.size()) {
    good = ::write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size());
  }
  good = good && ::fdatasync(file) == 0;
  const double seconds = seconds_since(start);
  ::close(file);
  ::unlink(path.c_str());
  return good ? static_cast<double>(kBytes) / std::max(seconds, 1e-9) : 0;
}

double estimated_seconds(const DumpReport& report, const DumpEstimate& estimate) {
  const double slowest = std::min(estimate.compute_bytes_per_second, estimate.write_bytes_per_second);
  return slowest > 0 ? report.file_bytes / slowest : 0;
}

double bytes_per_second(const DumpReport& report) {
  return report.matrix.seconds_compute > 0 ? report.matrix.bytes / report.matrix.seconds_compute : 0;
}

std::string shape_text(const std::vector<Index>& shape) {
  std::vector<std::string> sizes;
  for (const Index size : shape) sizes.push_back(grouped(size));
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

}  // namespace

std::pair<Index, Index> parse_shard(const std::string& text) {
  if (text == "auto") {
    for (const auto& [rank, size] : kLaunchers) {
      const char* const r = std::getenv(rank);
      const char* const n = std::getenv(size);
      if (r == nullptr || n == nullptr) continue;
      const Index count = parse_integer(size, n, 1, 1'000'000);
      return {parse_integer(rank, r, 0, count - 1), count};
    }
    fail(ErrorCode::invalid_argument, "--shard auto: neither SLURM's nor MPI's variables are set; give I/N");
  }
  const auto slash = text.find('/');
  if (slash == std::string::npos) fail(ErrorCode::invalid_argument, "--shard {}: wanted I/N, I counted from 0, or auto", text);
  const Index count = parse_integer("--shard", text.substr(slash + 1), 1, 1'000'000);
  const Index shard = parse_integer("--shard", text.substr(0, slash), 0, std::max<Index>(count, 1));
  if (shard == count) fail(ErrorCode::invalid_argument, "--shard {}: shards count from 0 to {}", text, count - 1);
  return {shard, count};
}

DumpEstimate estimate_dump(const DumpInputs& inputs, const DistanceOptions& options, const std::string& folder) {
  DumpEstimate estimate;
  estimate.compute_bytes_per_second = compute_rate(inputs, options);
  estimate.write_bytes_per_second = write_rate(folder);
  std::error_code failed;
  const auto space = std::filesystem::space(folder, failed);
  if (!failed) estimate.free_bytes = static_cast<double>(space.available);
  return estimate;
}

std::string dump_json(const DumpArgs& args, const DumpInputs& inputs, const DumpReport& report, const StageSeconds& seconds,
                      const std::optional<DumpEstimate>& estimate) {
  const DistanceReport& m = report.matrix;
  Json json;
  json["command"] = "dump";
  json["version"] = version();
  json["metric"] = std::string(name_of(*parse_metric(args.metric)));
  json["backend"] = m.backend;
  json["isa"] = m.isa;
  json["threads"] = m.threads;
  json["base"] = to_json(summarize(inputs.base));
  json["cols"] = inputs.cols ? to_json(summarize(*inputs.cols)) : Json(nullptr);
  json["out"] = args.out;
  json["shape"] = report.shape;
  json["dtype"] = std::string(name_of(m.grid.shape.dtype));
  json["file_bytes"] = static_cast<std::uint64_t>(report.file_bytes);
  json["plan"] = {{"form", m.form},           {"schedule", m.schedule},   {"reason", m.reason}, {"tile_rows", m.grid.tile_rows},
                  {"tile_cols", m.grid.tile_cols}, {"segments", m.segments}};
  json["tiles"] = {{"all", report.tiles}, {"before", report.tiles_before}, {"damaged", report.tiles_damaged}, {"computed", m.tiles}, {"after", report.tiles_after}};
  json["values"] = {{"directly", m.directly}, {"canonically", m.canonically}};
  if (estimate) {
    json["estimate"] = {{"seconds", estimated_seconds(report, *estimate)},
                        {"compute_bytes_per_second", estimate->compute_bytes_per_second},
                        {"write_bytes_per_second", estimate->write_bytes_per_second},
                        {"free_bytes", static_cast<std::uint64_t>(estimate->free_bytes)}};
  }
  json["seconds"] = {{"read", seconds.read}, {"prepare", seconds.prepare}, {"compute", seconds.search}, {"waiting", seconds.write}, {"total", seconds.total}};
  json["bytes_per_second"] = bytes_per_second(report);
  json["pairs_per_second"] = bytes_per_second(report) / static_cast<double>(size_of(m.grid.shape.dtype));
  json["peak_rss_bytes"] = peak_rss_bytes();
  json["warnings"] = Json::array();
  return json_text(json);
}

std::string dump_text(const DumpArgs& args, const DumpInputs& inputs, const DumpReport& report, const StageSeconds& seconds,
                      const std::optional<DumpEstimate>& estimate) {
  const DistanceReport& m = report.matrix;
  std::string text;
  text += fmt::format("base     {}\n", to_text(summarize(inputs.base)));
  text += fmt::format("cols     {}\n", inputs.cols ? to_text(summarize(*inputs.cols)) : "the base's own rows");
  text += fmt::format("matrix   {} {}, {}, {}  {}\n", shape_text(report.shape), name_of(m.grid.shape.dtype), args.metric, human_bytes(report.file_bytes), args.out);
  text += fmt::format("plan     {} {}, {} thread{}, {}, {} ({}), {} tiles of {} x {}\n", m.backend, m.isa, m.threads, m.threads == 1 ? "" : "s", m.form, m.schedule,
                      m.reason, report.tiles, m.grid.tile_rows, m.grid.tile_cols);
  if (estimate) {
    text += fmt::format("speed    {}/s computed, {}/s written here, measured for a moment\n", human_bytes(estimate->compute_bytes_per_second),
                        human_bytes(estimate->write_bytes_per_second));
    text += fmt::format("space    {} free\n", human_bytes(estimate->free_bytes));
    text += fmt::format("estimate {}; nothing was written\n", human_seconds(estimated_seconds(report, *estimate)));
    if (estimate->free_bytes < report.file_bytes) text += "warning  the file does not fit\n";
    return text;
  }
  if (report.tiles_before > 0) {
    text += fmt::format("resumed  {} of {} tiles were there{}\n", report.tiles_before, report.tiles,
                        report.tiles_damaged > 0 ? fmt::format(", {} more were damaged and are computed again", report.tiles_damaged) : "");
  } else if (report.tiles_damaged > 0) {
    text += fmt::format("resumed  {} tiles were damaged and are computed again\n", report.tiles_damaged);
  }
  text += fmt::format("time     {} (read {}, prepare {}, compute and write {}, of which workers waited {})\n", human_seconds(seconds.total), human_seconds(seconds.read),
                      human_seconds(seconds.prepare), human_seconds(seconds.search), human_seconds(seconds.write / std::max(1, m.threads)));
  text += fmt::format("speed    {}/s, {} pairs/s, {} values by differences, {} canonical, peak memory {}\n", human_bytes(bytes_per_second(report)),
                      human_count(bytes_per_second(report) / static_cast<double>(size_of(m.grid.shape.dtype))), human_count(static_cast<double>(m.directly)),
                      human_count(static_cast<double>(m.canonically)), human_bytes(static_cast<double>(peak_rss_bytes())));
  if (report.tiles_after < report.tiles) text += fmt::format("written  {} of {} tiles so far\n", report.tiles_after, report.tiles);
  return text;
}

}  // namespace tessera::cli
