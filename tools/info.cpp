// SPDX-License-Identifier: Apache-2.0
// `tessera info`: what this build offers; `tessera info FILE`: what a file holds.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "args.hpp"
#include "commands.hpp"
#include "inspect.hpp"
#include "mapped_inputs.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "tessera/info.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {
namespace {

// Chosen: a few seconds on one core. Larger files are sampled unless --sample says otherwise.
constexpr Index kMostElements = Index{1} << 28;

constexpr const char* kDescription =
    "Say what this build offers, or what a file holds.\n"
    "\n"
    "Without FILE: the version, the optional parts of this build, the instruction sets it has\n"
    "and the one it would use. With FILE: its format, shape and type; rows that are zero, equal\n"
    "or not finite; the range of the norms; what the data look like. A broken file exits with 3\n"
    "and a message that says what was expected.\n";

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera info                              what this build and machine offer\n"
    "  tessera info base.fbin                    what a file holds\n"
    "  tessera info emb.npz:vectors --json       one array of a container, for scripts\n"
    "  tessera info big.u8bin --sample 100000    look at 100,000 rows, evenly spaced\n"
    "  tessera info download.bin --in-format fbin --rows 0:1000";

struct InfoArgs {
  std::string file;
  std::string in_format;
  std::string rows;
  std::string sample;
  PrintArgs print;
};

Json to_json(const CudaInfo& cuda) {
  Json gpus = Json::array();
  for (const GpuInfo& gpu : cuda.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"compute_capability", gpu.compute_capability},
                    {"multiprocessors", gpu.multiprocessors},
                    {"memory_bytes", gpu.memory},
                    {"usable", gpu.usable}});
  }
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"toolkit", or_null(cuda.toolkit)}, {"driver", or_null(cuda.driver)}, {"unavailable", or_null(cuda.unavailable)}, {"gpus", gpus}};
}

void print_cuda(const CudaInfo& cuda) {
  const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
  fmt::print("cuda     toolkit {}, driver {}\n", or_none(cuda.toolkit), or_none(cuda.driver));
  if (!cuda.unavailable.empty()) fmt::print("gpu      none: {}\n", cuda.unavailable);
  for (const GpuInfo& gpu : cuda.gpus) {
    fmt::print("gpu      {}, compute capability {}, {} multiprocessors, {}{}\n", gpu.name, gpu.compute_capability, gpu.multiprocessors,
               human_bytes(static_cast<double>(gpu.memory)), gpu.usable ? "" : " (too old)");
  }
}

void print_build(const InfoArgs& args) {
  const BuildInfo build = build_info();
  if (args.print.json) {
    Json features = Json::object();
    for (const auto& [name, state] : build.features) features[name] = state;
    print_json({{"command", "info"},
                {"version", version()},
                {"features", features},
                {"isa", build.isa},
                {"isas_built", build.isas_built},
                {"isas_usable", build.isas_usable},
                {"threads", build.threads},
                {"cuda", to_json(build.cuda)}});
    return;
  }
  fmt::print("tessera {}\n", version());
  fmt::print("isa      {} (usable here: {}; built: {})\n", build.isa, join(build.isas_usable), join(build.isas_built));
  fmt::print("threads  {}\n", build.threads);
  print_cuda(build.cuda);
  for (const auto& [name, state] : build.features) fmt::print("{:<8} {}\n", name, state);
  fmt::print("reads    {}\nwrites   {}\n", join(readable_formats()), join(writable_formats()));
}

/// Bytes on disk of "FILE" or of the container in "FILE:NAME".
std::optional<std::uint64_t> file_bytes(const std::string& path) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(file_of(path), failed);
  if (failed) return std::nullopt;
  return bytes;
}

Index rows_to_inspect(const InfoArgs& args, const RowSet& rows) {
  if (args.sample.empty()) return std::max<Index>(1, kMostElements / std::max<Index>(1, rows.cols));
  const Index sample = parse_integer("--sample", args.sample, 0, std::numeric_limits<Index>::max());
  return sample == 0 ? std::max<Index>(1, rows.rows) : sample;
}

void print_file_json(const RowFile& file, const RowStatistics& statistics) {
  const auto bytes = file_bytes(file.path());
  Json json = {{"command", "info"}, {"version", version()}};
  json.update(to_json(summarize(file)));
  json["file_rows"] = file.file_rows();
  json["bytes"] = bytes ? Json(*bytes) : Json(nullptr);
  json["mapped"] = file.mapped();
  json["inspected_rows"] = statistics.inspected;
  json["sampled"] = statistics.step > 1;
  json["non_finite_rows"] = statistics.non_finite;
  json["zero_rows"] = statistics.zero;
  json["duplicate_rows"] = statistics.duplicates;
  const bool some = statistics.inspected > statistics.non_finite;
  json["norm_min"] = some ? Json(statistics.norm_min) : Json(nullptr);
  json["norm_max"] = some ? Json(statistics.norm_max) : Json(nullptr);
  json["value_min"] = some ? Json(statistics.value_min) : Json(nullptr);
  json["value_max"] = some ? Json(statistics.value_max) : Json(nullptr);
  json["hints"] = find_hints(file.rows(), statistics);
  print_json(json);
}

void print_file_text(const RowFile& file, const RowStatistics& statistics) {
  const InputSummary input = summarize(file);
  fmt::print("file       {}\n", input.path);
  fmt::print("format     {}{}\n", input.format, file.mapped() ? ", memory-mapped" : "");
  fmt::print("rows       {}{}\n", grouped(input.rows),
             file.file_rows() == input.rows ? "" : fmt::format(" (of {})", grouped(file.file_rows())));
  fmt::print("cols       {}\ndtype      {}\n", grouped(input.cols), name_of(input.dtype));
  if (const auto bytes = file_bytes(file.path())) {
    fmt::print("size       {} ({} bytes)\n", human_bytes(static_cast<double>(*bytes)), *bytes);
  }
  if (statistics.step > 1) {
    fmt::print("sampled    every {}th row, {} in all: what follows is about these\n", statistics.step,
               grouped(statistics.inspected));
  }
  fmt::print("not finite {} rows\n", grouped(statistics.non_finite));
  fmt::print("zero       {} rows\n", grouped(statistics.zero));
  fmt::print("duplicate  {} rows equal to an earlier one (by a 64-bit hash)\n", grouped(statistics.duplicates));
  if (statistics.inspected > statistics.non_finite) {
    fmt::print("norms      {:.6g} to {:.6g}\n", statistics.norm_min, statistics.norm_max);
    if (input.cols > 0) fmt::print("values     {:.6g} to {:.6g}\n", statistics.value_min, statistics.value_max);
  }
  for (const auto& hint : find_hints(file.rows(), statistics)) fmt::print("hint       {}\n", hint);
}

RowStatistics look_at(const RowFile& file, const InfoArgs& args) {
  ProgressPrinter progress(parse_progress_mode(args.print.progress), args.print.quiet);
  return inspect(file.rows(), rows_to_inspect(args, file.rows()), progress.function());
}

void run_info(const InfoArgs& args) {
  if (args.file.empty()) {
    print_build(args);
    return;
  }
  const RowRange range = parse_row_range("--rows", args.rows);
  const RowFile file =
      open_rows(args.file, {.format = args.in_format, .first_row = range.first, .last_row = range.last});
  const RowStatistics statistics = look_at(file, args);
  if (args.print.json) {
    print_file_json(file, statistics);
  } else {
    print_file_text(file, statistics);
  }
}

}  // namespace

Command add_info(CLI::App& root) {
  const auto args = std::make_shared<InfoArgs>();
  Flags flags(root, "info", kDescription, kFooter);
  flags.positional("FILE", args->file, "The file to look at; FILE:NAME picks an array of a container");
  flags.value("--in-format NAME", args->in_format, kGroupInput,
              "Its format, where the suffix doesn't tell. Read here: " + join(readable_formats()));
  flags.value("--rows A:B", args->rows, kGroupInput,
              "Only rows A to B-1, counted from 0; A: and :B leave an end open");
  flags.value("--sample N", args->sample, kGroupInput,
              "Look at this many rows at most, evenly spaced; 0: at all (default: all, up to 2^28 elements)");
  add_print_options(flags, args->print);
  return {.app = flags.app(), .run = [args](Interrupts&) { run_info(*args); }};
}

}  // namespace tessera::cli
