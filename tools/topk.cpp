// SPDX-License-Identifier: Apache-2.0
// `tessera topk`: the k nearest base rows of every query.
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands.hpp"
#include "fail.hpp"
#include "mapped_inputs.hpp"
#include "neighbour_table.hpp"
#include "tessera/knn.hpp"
#include "topk.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kDescription =
    "Find the k nearest base rows of every query row, exactly.\n"
    "\n"
    "The answer is the one of brute force in double precision over the data as stored, ties\n"
    "broken by the smaller id. Without --queries the base is searched for its own rows.\n";

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera topk -b base.fbin --queries q.fbin -k 10 -m l2 -o nn.npz\n"
    "  tessera topk -b points.npy -k 15 -m cosine -o nn.npz     every row's 15 nearest others\n"
    "  tessera topk -b points.npy -k 16 --self first -o nn.npz  the row itself in column 0\n"
    "  tessera topk -b emb.npz:vectors --queries q.npy -k 5     a look at the first rows\n"
    "  tessera topk -b base.fbin --base-rows 0:1000000 --queries q.fbin -k 100 -m ip -o gt.ibin\n"
    "  tessera topk -b x.npy -k 3 -o - | awk '$4 < 0.1'         pairs nearer than 0.1\n"
    "\n"
    "Past the candidates a row is padded with id -1 and distance inf (-inf for inner_product).";

void add_input_options(Flags& flags, TopkArgs& args) {
  flags.required("-b,--base FILE", args.base, kGroupInput, "Rows to search. FILE:NAME picks an array of a container");
  flags.value("--queries FILE", args.queries, kGroupInput, "Rows to search for (default: the base's own rows)");
  flags.value("--base-rows A:B", args.base_rows, kGroupInput,
              "Only rows A to B-1 of the base, counted from 0; A: and :B leave an end open. "
              "Ids stay the file's row numbers");
  flags.value("--query-rows A:B", args.query_rows, kGroupInput, "Only these rows of the queries");
  flags.value("--in-format NAME", args.in_format, kGroupInput,
              "Format of both inputs, where the suffix doesn't tell. Read here: " + join(readable_formats()));
}

void add_search_options(Flags& flags, TopkArgs& args) {
  flags.required("-k N", args.k, kGroupSearch, "Neighbours per query, at least 1");
  flags.value("-m,--metric NAME", args.metric, kGroupSearch,
              "l2 (default) | sqeuclidean | inner_product | cosine | l1 | linf | periodic | wasserstein, "
              "or an alias: euclidean, ip, angular, manhattan ...");
  add_cell_options(flags, args.cell);
  flags.value("--images WHICH", args.images, kGroupSearch,
              "periodic: nearest (default): each row once | all: every image is a neighbour of its own; only the row itself at shift 0 is left out");
  add_distribution_options(flags, args.distribution);
  flags.value("--self MODE", args.self, kGroupSearch,
              "Without --queries, what a row does with itself, by id: "
              "exclude (default) it | list it first | natural: like any other");
  add_filter_options(flags, args.filter);
  flags.value("--nan POLICY", args.nan, kGroupSearch,
              "Rows with NaN or inf: error (default) | skip: never return such base rows, pad such queries");
}

void add_result_options(Flags& flags, TopkArgs& args) {
  flags.value("-o,--out FILE", args.out, kGroupOutput,
              "Where to, by suffix: " + join(writable_formats()) +
                  "; - for a text table on stdout (default: a look at the first rows)");
  flags.value("--shifts FILE", args.shifts, kGroupOutput,
              "periodic: write the cells S that each neighbour is moved by, x_j - x_i + S * cell, as .npy, int32 [nq, k, 3]");
  flags.toggle("--force", args.force, kGroupOutput, "Overwrite the output file");
  flags.value("--distances DTYPE", args.distances, kGroupOutput, "float32 (default) | float64");
  flags.value("--ids DTYPE", args.ids, kGroupOutput, "int64 (default) | int32, in npz, h5 and npy");
}

SelfMode self_mode(const TopkArgs& args) {
  const SelfMode mode = choose<SelfMode>("--self", args.self.empty() ? "exclude" : args.self,
                                         {{"exclude", SelfMode::exclude},
                                          {"first", SelfMode::first},
                                          {"natural", SelfMode::natural}});
  if (args.queries.empty()) return mode;
  if (!args.self.empty()) {
    fail(ErrorCode::invalid_argument, "--self {}: only without --queries, where the base is searched for its own rows",
         args.self);
  }
  return SelfMode::none;
}

ReadOptions read_options(const TopkArgs& args, std::string_view flag, const std::string& range) {
  const RowRange rows = parse_row_range(flag, range);
  // --query-rows alone takes rows of the base's own array.
  const bool of_queries = flag == "--query-rows" && !args.queries.empty();
  return {.format = args.in_format,
          .first_row = rows.first,
          .last_row = rows.last,
          .role = of_queries ? RowRole::queries : RowRole::base,
          .frame = frame_of(args.cell)};
}

void check_output(const TopkArgs& args, const WriteOptions& write) {
  if (!args.shifts.empty()) {
    if (!args.shifts.ends_with(".npy") || args.shifts == args.out || same_file(args.shifts, args.base)) {
      fail(ErrorCode::invalid_argument, "--shifts {}: wanted a .npy file of its own", args.shifts);
    }
    check_writable(args.shifts, {.format = "npy", .overwrite = args.force});
  }
  if (args.out == "-" && args.print.json) {
    fail(ErrorCode::invalid_argument, "--json and -o - both want standard output: give -o a file");
  }
  if (args.out.empty() || args.out == "-") return;
  for (const std::string& input : {args.base, args.queries, args.filter.allow, args.filter.deny}) {
    if (!input.empty() && same_file(args.out, input)) {
      fail(ErrorCode::invalid_argument, "-o {}: that is an input of this search; choose another name", args.out);
    }
  }
  check_writable(args.out, write);
}

Request understand(const TopkArgs& args) {
  Request request;
  request.k = parse_integer("-k", args.k, 1, std::numeric_limits<Index>::max());
  request.knn.metric.metric = parse_metric_flag(args.metric);
  request.knn.metric.cell = cell_of(args.cell);
  request.knn.self = self_mode(args);
  check_filter(args.filter);
  request.knn.nan =
      choose<NanPolicy>("--nan", args.nan, {{"error", NanPolicy::error}, {"skip", NanPolicy::skip}});
  request.knn.distances = choose<DistanceType>(
      "--distances", args.distances, {{"float32", DistanceType::float32}, {"float64", DistanceType::float64}});
  request.write.ids_int32 = choose<bool>("--ids", args.ids, {{"int64", false}, {"int32", true}});
  request.write.overwrite = args.force;
  request.knn.shifts = !args.shifts.empty();
  request.knn.images = choose<Images>("--images", args.images, {{"nearest", Images::nearest}, {"all", Images::all}});
  DistributionOptions distributions;
  apply_distribution_options(args.distribution, request.knn.metric, distributions);
  request.read_base = read_options(args, "--base-rows", args.base_rows);
  request.read_queries = read_options(args, "--query-rows", args.query_rows);
  request.read_base.distributions = request.read_queries.distributions = distributions;
  request.progress = parse_progress_mode(args.print.progress);
  apply_speed_options(args.speed, request.knn);
  check_output(args, request.write);
  return request;
}

Inputs open_inputs(const TopkArgs& args, const Request& request) {
  Inputs inputs{.base = open_rows(args.base, request.read_base), .queries = std::nullopt};
  if (!args.queries.empty()) {
    inputs.queries = open_rows(args.queries, request.read_queries);
  } else if (!args.query_rows.empty()) {
    inputs.queries = open_rows(args.base, request.read_queries);
  }
  const RowSet& base = inputs.base.rows();
  const RowSet& queries = inputs.query_file().rows();
  const bool distributions = request.read_base.distributions.wanted;
  if (queries.cols != base.cols && !distributions) {
    fail(ErrorCode::malformed_input, "'{}' has {} columns, '{}' has {}: queries and base must have the same number",
         inputs.query_file().path(), queries.cols, inputs.base.path(), base.cols);
  }
  if (base.cols == 0 && !distributions) fail(ErrorCode::malformed_input, "'{}': 0 columns, wanted at least 1", inputs.base.path());
  const Index last_id = base.first_id + base.rows - 1;
  if (request.write.ids_int32 && last_id > std::numeric_limits<std::int32_t>::max()) {
    fail(ErrorCode::invalid_argument, "--ids int32: '{}' has ids up to {}, past int32; use int64", inputs.base.path(),
         last_id);
  }
  return inputs;
}

/// The library speaks of "base" and "queries"; a user thinks of files.
[[noreturn]] void rethrow_with_path(const Error& error, const Inputs& inputs) {
  const std::string message = error.what();
  const RowFile& file = message.starts_with("queries") ? inputs.query_file() : inputs.base;
  fail(error.code(), "'{}': {}", file.path(), message);
}

Neighbours find_neighbours(const Request& request, const Inputs& inputs, const KnnOptions& options) {
  try {
    return knn(inputs.query_file().rows(), inputs.base.rows(), request.k, options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::malformed_input) rethrow_with_path(error, inputs);
    throw;
  }
}

Neighbours search(const Request& request, const Inputs& inputs, const TopkArgs& args, Interrupts& interrupts) {
  ProgressPrinter progress(request.progress, args.print.quiet);
  KnnOptions options = request.knn;
  options.progress = progress.function();
  options.stop = interrupts.token();
  interrupts.enter(Interrupts::Phase::computing);
  Neighbours neighbours = find_neighbours(request, inputs, options);
  interrupts.enter(Interrupts::Phase::idle);
  // A stop that came too late for the search to notice.
  if (interrupts.token().stop_requested()) fail(ErrorCode::cancelled, "interrupted");
  return neighbours;
}

void write(const TopkArgs& args, const Request& request, const Inputs& inputs, const Neighbours& neighbours,
           Interrupts& interrupts) {
  const Index first_query = inputs.query_file().rows().first_id;
  if (args.out == "-") {
    print_neighbours(neighbours, first_query);
  } else if (!args.out.empty()) {
    interrupts.enter(Interrupts::Phase::writing);
    write_neighbours(args.out, neighbours, request.write);
    interrupts.enter(Interrupts::Phase::idle);
  } else if (!args.print.json) {
    print_preview(neighbours, first_query);
  }
  if (args.shifts.empty()) return;
  interrupts.enter(Interrupts::Phase::writing);
  write_shifts(args.shifts, neighbours, args.force);
  interrupts.enter(Interrupts::Phase::idle);
}

void print_report(const TopkArgs& args, const Request& request, const Inputs& inputs, const Outcome& outcome) {
  if (args.print.json) {
    fmt::print("{}\n", report_json(args, request, inputs, outcome));
  } else if (!args.print.quiet) {
    std::fflush(stdout);  // the table first, when both go to one place
    fmt::print(args.out == "-" ? stderr : stdout, "{}", report_text(args, request, inputs, outcome));
  }
  if (!args.print.quiet) {
    std::fflush(stdout);
    print_warnings(outcome.warnings);
  }
}

void run_topk(const TopkArgs& args, Interrupts& interrupts) {
  Stopwatch watch;
  Request request = understand(args);
  watch.lap();
  const Inputs inputs = open_inputs(args, request);
  complete_cell(request.knn.metric, args.cell, inputs.base, inputs.queries ? &*inputs.queries : nullptr);
  request.knn.filter = read_filter(args.filter, inputs.base);
  Outcome outcome;
  outcome.seconds.read = watch.lap();
  outcome.neighbours = search(request, inputs, args, interrupts);
  outcome.seconds.prepare = outcome.neighbours.report.seconds_prepare;
  outcome.seconds.pack = outcome.neighbours.report.seconds_pack;
  outcome.seconds.search = outcome.neighbours.report.seconds_search;
  outcome.warnings = find_warnings(args, request, inputs, outcome.neighbours.report);
  watch.lap();
  write(args, request, inputs, outcome.neighbours, interrupts);
  outcome.seconds.write = watch.lap();
  outcome.seconds.total = watch.total();
  print_report(args, request, inputs, outcome);
}

}  // namespace

Command add_topk(CLI::App& root) {
  const auto args = std::make_shared<TopkArgs>();
  Flags flags(root, "topk", kDescription, kFooter);
  add_input_options(flags, *args);
  add_search_options(flags, *args);
  add_result_options(flags, *args);
  add_print_options(flags, args->print);
  add_speed_options(flags, args->speed);
  return {.app = flags.app(), .run = [args](Interrupts& interrupts) { run_topk(*args, interrupts); }};
}

}  // namespace tessera::cli
