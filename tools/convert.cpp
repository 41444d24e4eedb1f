// SPDX-License-Identifier: Apache-2.0
// `tessera convert`: the rows of one file in another format or type.
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "args.hpp"
#include "commands.hpp"
#include "mapped_inputs.hpp"
#include "report.hpp"
#include "tessera/info.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kDescription =
    "Write the rows of a file in another format or element type.\n"
    "\n"
    "Never silently lossy: a value that the new type does not hold exactly ends the conversion\n"
    "with status 3 and is named with its row, its column and a type that holds it. --lossy lets\n"
    "floats be rounded to narrower floats, and counts them. Rows pass through one at a time; the\n"
    "new file appears whole or not at all.\n";

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera convert base.fvecs base.npy                      another format, the same type\n"
    "  tessera convert sift.h5:train sift.u8bin                 whole numbers 0..255 as bytes\n"
    "  tessera convert emb.npy emb.f16bin --lossy               half the size; rounded\n"
    "  tessera convert w.safetensors:emb unit.fbin --normalize  rows of length 1\n"
    "  tessera convert big.fbin small.fbin --rows 0:100000      a slice\n"
    "  tessera convert points.csv points.npy --dtype float32 --lossy   text is float64 at first\n"
    "\n"
    "Without --dtype: what the format holds (.fbin float32, .u8bin uint8, ...); in .npy the type of\n"
    "the input, or float32 with --normalize.";

struct ConvertArgs {
  std::string in;
  std::string out;
  std::string in_format;
  std::string dtype;
  std::string rows;
  bool normalize = false;
  bool lossy = false;
  bool force = false;
  PrintArgs print;
};

RowWriteOptions understand(const ConvertArgs& args) {
  RowWriteOptions options{.format = "",
                          .dtype = std::nullopt,
                          .normalize = args.normalize,
                          .lossy = args.lossy,
                          .overwrite = args.force};
  if (!args.dtype.empty()) {
    options.dtype = parse_dtype(args.dtype);
    if (!options.dtype) {
      fail(ErrorCode::invalid_argument,
           "--dtype {}: wanted one of float64, float32, float16, int8, uint8, int16, uint16, int32, uint32, int64, "
           "uint64",
           args.dtype);
    }
  }
  if (same_file(args.out, args.in)) {
    fail(ErrorCode::invalid_argument, "{}: that is the input; choose another name for the output", args.out);
  }
  check_rows_writable(args.out, options);
  return options;
}

RowsWritten write(const ConvertArgs& args, const RowFile& file, RowWriteOptions options, Interrupts& interrupts) {
  ProgressPrinter progress(parse_progress_mode(args.print.progress), args.print.quiet);
  options.progress = progress.function();
  options.stop = interrupts.token();
  interrupts.enter(Interrupts::Phase::computing);
  try {
    const RowsWritten written = write_rows(args.out, file.rows(), options);
    interrupts.enter(Interrupts::Phase::idle);
    return written;
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.code() == ErrorCode::malformed_input && message.ends_with("let it be rounded")) {
      fail(error.code(), "{} (--lossy)", message);
    }
    throw;
  }
}

std::uint64_t bytes_of(const std::string& path) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(path, failed);
  return failed ? 0 : bytes;
}

std::string report_text(const ConvertArgs& args, const RowFile& file, const RowsWritten& written, double seconds) {
  const InputSummary out{.path = args.out,
                         .format = written.format,
                         .rows = file.rows().rows,
                         .cols = file.rows().cols,
                         .dtype = written.dtype};
  const auto bytes = static_cast<double>(bytes_of(args.out));
  std::string text;
  text += fmt::format("read     {}\n", to_text(summarize(file)));
  text += fmt::format("written  {}\n", to_text(out));
  if (args.lossy) text += fmt::format("rounded  {} values\n", grouped(written.rounded));
  if (args.normalize) text += fmt::format("zero     {} rows, left as they are\n", grouped(written.zero_rows));
  text += fmt::format("time     {} ({}/s)\n", human_seconds(seconds), human_bytes(seconds > 0 ? bytes / seconds : 0));
  return text;
}

void print_report_json(const ConvertArgs& args, const RowFile& file, const RowsWritten& written, double seconds) {
  Json json = {{"command", "convert"}, {"version", version()}};
  json["input"] = to_json(summarize(file));
  json["output"] = {{"path", args.out},
                    {"rows", file.rows().rows},
                    {"cols", file.rows().cols},
                    {"dtype", std::string(name_of(written.dtype))},
                    {"format", written.format},
                    {"bytes", bytes_of(args.out)}};
  json["normalized"] = args.normalize;
  json["zero_rows"] = written.zero_rows;
  json["rounded"] = written.rounded;
  json["seconds"] = {{"total", seconds}};
  json["peak_rss_bytes"] = peak_rss_bytes();
  print_json(json);
}

void run_convert(const ConvertArgs& args, Interrupts& interrupts) {
  const Stopwatch watch;
  const RowWriteOptions options = understand(args);
  const RowRange range = parse_row_range("--rows", args.rows);
  const RowFile file =
      open_rows(args.in, {.format = args.in_format, .first_row = range.first, .last_row = range.last});
  const RowsWritten written = write(args, file, options, interrupts);
  if (args.print.json) {
    print_report_json(args, file, written, watch.total());
  } else if (!args.print.quiet) {
    fmt::print("{}", report_text(args, file, written, watch.total()));
  }
}

}  // namespace

Command add_convert(CLI::App& root) {
  const auto args = std::make_shared<ConvertArgs>();
  Flags flags(root, "convert", kDescription, kFooter);
  flags.required_positional("IN", args->in, "The file to read; FILE:NAME picks an array of a container");
  flags.required_positional("OUT", args->out, "The file to write, by suffix: " + join(writable_row_formats()));
  flags.value("--in-format NAME", args->in_format, kGroupInput,
              "Format of IN, where the suffix doesn't tell. Read here: " + join(readable_formats()));
  flags.value("--rows A:B", args->rows, kGroupInput, "Only rows A to B-1, counted from 0; A: and :B leave an end open");
  flags.value("--dtype TYPE", args->dtype, kGroupOutput,
              "float64 | float32 | float16 | int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64");
  flags.toggle("--normalize", args->normalize, kGroupOutput,
               "Divide every row by its L2 norm, computed in double; zero rows stay zero");
  flags.toggle("--lossy", args->lossy, kGroupOutput,
               "Round floats that the new type does not hold, to nearest; never to integers, never to inf");
  flags.toggle("--force", args->force, kGroupOutput, "Overwrite OUT");
  add_print_options(flags, args->print);
  return {.app = flags.app(), .run = [args](Interrupts& interrupts) { run_convert(*args, interrupts); }};
}

}  // namespace tessera::cli
