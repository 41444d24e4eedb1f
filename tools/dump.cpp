// SPDX-License-Identifier: Apache-2.0
// `tessera dump`: every distance into a file.
#include "dump.hpp"

#include <cmath>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "decode.hpp"
#include "mapped_inputs.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kDescription =
    "Write every distance between two sets of rows, or within one, into a file.\n"
    "\n"
    "The file has its full size at once and is filled tile by tile, much larger than memory if\n"
    "need be. FILE.tiles beside it says which tiles are on the disk: after a crash or Ctrl-C,\n"
    "--resume goes on, and the file ends up the same, byte for byte. A float32 value is within\n"
    "2e-5 of the exact one, relatively, and typically 5e-7 (docs/numerics.md).\n";

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera dump -b x.npy -m cosine -o d.npy                 every row against every row\n"
    "  tessera dump -b x.npy --cols y.npy -m l2 -o d.h5         rows of x by rows of y\n"
    "  tessera dump -b x.npy -m cosine -o d.npy --resume        go on after a crash\n"
    "  tessera dump -o d.npy --verify                           are all bytes those that were written?\n"
    "  tessera dump -b x.npy -o d.npy --shard 0/4               the first of four processes, one file\n"
    "  tessera dump -b x.npy -o d.npy --condensed               scipy's order, half the size\n"
    "  tessera dump -b tokens.npy --batched -m cosine -o d.npy  [B, N, D] to [B, N, N]\n"
    "  tessera dump -b big.npy -o d.h5 --dry-run                size, plan and time, nothing written\n"
    "\n"
    "In Python: np.load('d.npy', mmap_mode='r'); h5py.File('d.h5')['distances'].";

void add_options(Flags& flags, DumpArgs& args) {
  flags.value("-b,--base FILE", args.base, kGroupInput, "Rows of the matrix. FILE:NAME picks an array of a container");
  flags.value("--cols FILE", args.cols, kGroupInput, "Its columns (default: the same rows)");
  flags.value("--base-rows A:B", args.base_rows, kGroupInput, "Only rows A to B-1 of the base; A: and :B leave an end open");
  flags.value("--cols-rows A:B", args.cols_rows, kGroupInput, "Only these rows of --cols");
  flags.toggle("--batched", args.batched, kGroupInput, "The base is [B, N, D]: one matrix [N, N] a batch");
  flags.value("--lengths FILE", args.lengths, kGroupInput, "With --batched, how many of its N rows count in each batch: the others' values are NaN");
  flags.value("--pool mean", args.pool, kGroupInput, "With --batched, the mean of every batch's rows: one matrix [B, B]");
  flags.value("--in-format NAME", args.in_format, kGroupInput, "Format of the inputs, where the suffix doesn't tell");
  flags.value("-m,--metric NAME", args.metric, kGroupSearch, "l2 (default) | sqeuclidean | inner_product | cosine | l1 | linf | periodic | wasserstein, or an alias");
  add_cell_options(flags, args.cell);
  add_distribution_options(flags, args.distribution);
  flags.toggle("--exact", args.exact, kGroupSearch, "Every value is the canonical one, rounded once: slower");
  flags.required("-o,--out FILE", args.out, kGroupOutput, "Where to, by suffix: " + join(dump_formats()));
  flags.value("--dtype TYPE", args.dtype, kGroupOutput, "float32 (default; what .f16 and .f64 say) | float16 | float64: canonical values");
  flags.toggle("--condensed", args.condensed, kGroupOutput, "Only j > i, as scipy.spatial.distance.pdist orders them");
  flags.value("--compress NAME", args.compress, kGroupOutput, "gzip (h5, zarr) | zstd (zarr)");
  flags.toggle("--resume", args.resume, kGroupOutput, "Check what an interrupted dump finished, and go on");
  flags.toggle("--verify", args.verify, kGroupOutput, "Read a dump back and compare its checksums; status 3 unless all is there");
  flags.value("--shard I/N", args.shard, kGroupOutput, "Only the I-th of N bands of rows, counted from 0; auto: from SLURM's or MPI's variables");
  flags.toggle("--dry-run", args.dry_run, kGroupOutput, "Print size, plan and estimated time; write nothing");
  flags.toggle("--force", args.force, kGroupOutput, "Overwrite the output file");
  add_print_options(flags, args.print);
  flags.value("--threads N", args.speed.threads, kGroupSpeed, "Worker threads (default: the cores the process may use)");
  flags.value("--memory SIZE", args.speed.memory, kGroupSpeed, "Budget for buffers, e.g. 8G or 512M (default: half of what is free)");
  flags.value("--backend NAME", args.speed.backend, kGroupSpeed, "auto | cpu | cuda");
  flags.value("--tile N", args.speed.tile, kGroupSpeed, "Tiles of N x N values (default: bands of rows, a few MiB each)");
}

struct Request {
  DistanceOptions distances;
  DumpOptions dump;
  DistributionOptions distributions;
  ProgressMode progress = ProgressMode::automatic;
};

Request understand(const DumpArgs& args) {
  Request request;
  DistanceOptions& d = request.distances;
  KnnOptions speed;
  apply_speed_options(args.speed, speed);
  d.threads = speed.threads;
  d.memory = speed.memory;
  d.backend = speed.backend;
  d.tile_rows = d.tile_cols = speed.tile;
  d.metric.metric = parse_metric_flag(args.metric);
  d.metric.cell = cell_of(args.cell);
  apply_distribution_options(args.distribution, d.metric, request.distributions);
  d.exact = args.exact;
  const std::string dtype = !args.dtype.empty() ? args.dtype : args.out.ends_with(".f16") ? "float16" : args.out.ends_with(".f64") ? "float64" : "float32";
  d.dtype = choose<DType>("--dtype", dtype, {{"float32", DType::f32}, {"float16", DType::f16}, {"float64", DType::f64}});
  if (!args.shard.empty()) std::tie(d.shard, d.shards) = parse_shard(args.shard);
  request.dump = {.format = "", .compress = args.compress, .condensed = args.condensed, .resume = args.resume, .overwrite = args.force};
  request.progress = parse_progress_mode(args.print.progress);
  if (args.resume && args.force) fail(ErrorCode::invalid_argument, "--resume goes on with the file, --force starts again: choose one");
  if (args.force && d.shards > 1) {
    fail(ErrorCode::invalid_argument, "--force with --shard would undo the other shards: remove {} and {}.tiles first", args.out, args.out);
  }
  if (args.base.empty() && !args.verify) fail(ErrorCode::invalid_argument, "--base is required");
  if (!args.batched && (!args.pool.empty() || !args.lengths.empty())) fail(ErrorCode::invalid_argument, "--pool and --lengths: only with --batched");
  if (args.batched && (!args.cols.empty() || !args.base_rows.empty())) {
    fail(ErrorCode::invalid_argument, "--batched compares the rows of each batch: leave out --cols and --base-rows");
  }
  if (args.batched && request.distributions.wanted) {
    fail(ErrorCode::invalid_argument, "--batched: under wasserstein [R, C, S] is a grid of distributions already, and every one is compared with every other: leave it out");
  }
  if (args.batched && args.condensed && args.pool.empty()) {
    fail(ErrorCode::invalid_argument, "--condensed --batched: a condensed matrix is one square, and every batch has its own; leave out --condensed, or dump one batch at a time");
  }
  if (!args.pool.empty() && args.pool != "mean") fail(ErrorCode::invalid_argument, "--pool {}: wanted mean", args.pool);
  request.dump.batched = args.batched && args.pool.empty();
  if (!args.cols_rows.empty() && args.cols.empty()) fail(ErrorCode::invalid_argument, "--cols-rows without --cols");
  for (const std::string& input : {args.base, args.cols}) {
    if (same_file(args.out, input)) fail(ErrorCode::invalid_argument, "-o {}: that is an input; choose another name", args.out);
  }
  if (!args.verify) check_dumpable(args.out, request.dump);
  return request;
}

ReadOptions read_options(const DumpArgs& args, const Request& request, std::string_view flag, const std::string& range) {
  const RowRange rows = parse_row_range(flag, range);
  return {.format = args.in_format, .first_row = rows.first, .last_row = rows.last, .frame = frame_of(args.cell), .distributions = request.distributions};
}

/// One whole number a batch, least to n.
std::vector<Index> read_lengths(const std::string& path, Index batches, Index least, Index n) {
  const RowFile file = open_rows(path, {});
  const RowSet& rows = file.rows();
  if (rows.rows != batches || rows.cols != 1) {
    fail(ErrorCode::malformed_input, "'{}' is {} x {}: wanted {} lengths, one a batch", path, rows.rows, rows.cols, batches);
  }
  std::vector<Index> lengths;
  for (Index b = 0; b < batches; ++b) {
    double value = 0;
    decode_row(rows, b, &value);
    if (!(value >= static_cast<double>(least) && value <= static_cast<double>(n) && value == std::floor(value))) {
      fail(ErrorCode::malformed_input, "'{}': length {} of batch {}: wanted a whole number, {} to {}{}", path, value, b, least, n,
           value == 0 ? " (a batch without rows has no mean)" : "");
    }
    lengths.push_back(static_cast<Index>(value));
  }
  return lengths;
}

void take_batches(const DumpArgs& args, DumpInputs& inputs) {
  inputs.batches = inputs.base.batches();
  if (inputs.batches < 1) fail(ErrorCode::malformed_input, "'{}' is not [B, N, D] with B of at least 1, as --batched wants (.npy or .npz, C order)", args.base);
  if (!args.lengths.empty()) inputs.lengths = read_lengths(args.lengths, inputs.batches, args.pool.empty() ? 0 : 1, inputs.x.rows / inputs.batches);
  if (args.pool.empty()) return;
  inputs.means = mean_rows(inputs.x, inputs.batches, inputs.lengths);
  for (std::size_t i = 0; i < inputs.means.size(); ++i) {
    if (std::isfinite(inputs.means[i])) continue;
    fail(ErrorCode::malformed_input, "'{}': the mean of batch {} is not finite: clean the data{}", args.base, static_cast<Index>(i) / inputs.x.cols,
         args.lengths.empty() ? ", or give lengths where they are padding (--lengths)" : "");
  }
  inputs.x = dense(inputs.means.data(), inputs.batches, inputs.x.cols);
  inputs.batches = 1;
  inputs.lengths.clear();
}

/// Distributions that form a grid give the file its shape.
std::vector<Index> grid_of(const RowSet& rows) {
  return rows.grid_rows > 0 ? std::vector<Index>{rows.grid_rows, rows.grid_cols} : std::vector<Index>{};
}

DumpInputs open_inputs(const DumpArgs& args, Request& request) {
  ReadOptions base = read_options(args, request, "--base-rows", args.base_rows);
  base.batched = args.batched;
  DumpInputs inputs{.base = open_rows(args.base, base), .cols = std::nullopt, .x = {}, .y = std::nullopt, .batches = 1, .lengths = {}, .means = {}};
  inputs.x = inputs.base.rows();
  if (args.batched) take_batches(args, inputs);
  if (!args.cols.empty()) {
    inputs.cols = open_rows(args.cols, read_options(args, request, "--cols-rows", args.cols_rows));
    inputs.y = inputs.cols->rows();
    if (inputs.y->cols != inputs.x.cols && !request.distributions.wanted) {
      fail(ErrorCode::malformed_input, "'{}' has {} columns, '{}' has {}: rows must have the same dimension", args.base, inputs.x.cols, args.cols, inputs.y->cols);
    }
    request.dump.col_grid = grid_of(*inputs.y);
  }
  request.dump.row_grid = grid_of(inputs.x);
  return inputs;
}

/// The library speaks of "base" and "cols"; a user thinks of files.
DumpReport write(const DumpArgs& args, const Request& request, const DumpInputs& inputs, Interrupts& interrupts) {
  ProgressPrinter progress(request.progress, args.print.quiet);
  DistanceOptions options = request.distances;
  options.progress = progress.function();
  options.stop = interrupts.token();
  interrupts.enter(Interrupts::Phase::computing);
  try {
    DumpReport report = dump_distances(args.out, inputs.x, inputs.columns(), options, request.dump);
    interrupts.enter(Interrupts::Phase::idle);
    return report;
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.code() != ErrorCode::malformed_input) throw;
    if (message.starts_with("base:")) fail(error.code(), "'{}': {}", args.base, message);
    if (message.starts_with("cols:")) fail(error.code(), "'{}': {}", args.cols, message);
    throw;
  }
}

void verify(const DumpArgs& args, const Request& request, Interrupts& interrupts) {
  ProgressPrinter progress(request.progress, args.print.quiet);
  interrupts.enter(Interrupts::Phase::computing);
  const DumpStatus status = verify_dump(args.out, progress.function(), interrupts.token());
  interrupts.enter(Interrupts::Phase::idle);
  progress.clear();
  if (!status.damaged.empty()) {
    fail(ErrorCode::malformed_input, "'{}': {} of {} tiles are damaged, the first is tile {}; --resume computes them again", args.out, status.damaged.size(),
         status.tiles, status.damaged.front());
  }
  if (status.missing > 0) fail(ErrorCode::malformed_input, "'{}': {} of {} tiles are missing; --resume goes on", args.out, status.missing, status.tiles);
  if (args.print.json) {
    fmt::print("{{\"command\": \"dump\", \"verified\": true, \"tiles\": {}}}\n", status.tiles);
  } else if (!args.print.quiet) {
    fmt::print("verified {} tiles of '{}': every byte is the one that was written\n", status.tiles, args.out);
  }
}

void print(const DumpArgs& args, const DumpInputs& inputs, const DumpReport& report, const StageSeconds& seconds, const std::optional<DumpEstimate>& estimate) {
  if (args.print.json) {
    fmt::print("{}\n", dump_json(args, inputs, report, seconds, estimate));
  } else if (!args.print.quiet) {
    fmt::print("{}", dump_text(args, inputs, report, seconds, estimate));
  }
}

/// What dump_distances() would do.
DumpReport plan(const Request& request, const DumpInputs& inputs) {
  DumpReport report;
  report.matrix = inputs.y ? plan_distances(inputs.x, *inputs.y, request.distances) : plan_distances(inputs.x, request.distances);
  const MatrixShape& m = report.matrix.grid.shape;
  report.shape = dump_shape(m, request.distances, request.dump);
  report.file_bytes = static_cast<double>(size_of(m.dtype));
  for (const Index size : report.shape) report.file_bytes *= static_cast<double>(size);
  report.tiles = report.matrix.grid.tiles();
  return report;
}

void run_dump(const DumpArgs& args, Interrupts& interrupts) {
  Stopwatch watch;
  Request request = understand(args);
  if (args.verify) return verify(args, request, interrupts);
  watch.lap();
  const DumpInputs inputs = open_inputs(args, request);
  request.distances.batches = inputs.batches;
  request.distances.lengths = inputs.lengths;
  complete_cell(request.distances.metric, args.cell, inputs.base, inputs.cols ? &*inputs.cols : nullptr);
  StageSeconds seconds;
  seconds.read = watch.lap();
  if (args.dry_run) {
    const std::string folder = std::filesystem::path(args.out).parent_path().string();
    const DumpEstimate estimate = estimate_dump(inputs, request.distances, folder.empty() ? "." : folder);
    const DumpReport report = plan(request, inputs);
    seconds.total = watch.total();
    return print(args, inputs, report, seconds, estimate);
  }
  const DumpReport report = write(args, request, inputs, interrupts);
  seconds.prepare = report.matrix.seconds_prepare;
  seconds.search = report.matrix.seconds_compute;
  seconds.write = report.seconds_waiting;
  seconds.total = watch.total();
  print(args, inputs, report, seconds, std::nullopt);
}

}  // namespace

Command add_dump(CLI::App& root) {
  const auto args = std::make_shared<DumpArgs>();
  Flags flags(root, "dump", kDescription, kFooter);
  add_options(flags, *args);
  return {.app = flags.app(), .run = [args](Interrupts& interrupts) { run_dump(*args, interrupts); }};
}

}  // namespace tessera::cli
