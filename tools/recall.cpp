// SPDX-License-Identifier: Apache-2.0
// `tessera recall`: judges neighbour lists by true ones.
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "args.hpp"
#include "commands.hpp"
#include "exit_codes.hpp"
#include "fail.hpp"
#include "mapped_inputs.hpp"
#include "numbers.hpp"
#include "report.hpp"
#include "tessera/info.hpp"
#include "tessera/io.hpp"
#include "tessera/recall.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kDescription =
    "Measure the recall of neighbour lists against true ones.\n"
    "\n"
    "A query's recall is the share of its k places that hold right answers. Of rows that tie at the\n"
    "k-th place any are right, but only as many as there are places for them; repeats and missing\n"
    "answers count for nothing. With --base and --queries every distance is computed anew, so ties past\n"
    "the truth's last column count too, and a truth of other data is found out.\n";

constexpr const char* kFooter =
    "Definitions:\n"
    "  tie             as above (default)\n"
    "  strict          the truth's first k ids\n"
    "  ann-benchmarks  distances up to the k-th true one + 0.001; repeats count\n"
    "  big-ann         the truth's first k ids and what is within 1e-6 of the k-th; ties not capped\n"
    "  diskann         the same with exact ties\n"
    "  faiss           ids common to both first k\n"
    "\n"
    "Examples:\n"
    "  tessera recall --truth gt.ibin --run hnsw.npz -k 10\n"
    "  tessera recall --truth gt.ibin --run hnsw.npz -k 10 --min 0.95       a gate: status 4 below it\n"
    "  tessera recall --truth sift.hdf5 --run result.hdf5 -k 10 --definition ann-benchmarks\n"
    "  tessera recall --truth I.npy --truth-distances D.npy --run run.ivecs -k 10\n"
    "  tessera recall --truth gt.npz --run r.npz -k 10 --base b.fbin --queries q.fbin -m cosine";

struct RecallArgs {
  std::string truth;
  std::string truth_distances;
  std::string run;
  std::string run_distances;
  std::string k;
  std::string base;
  std::string queries;
  std::string metric = "l2";
  std::string definition = "tie";
  std::string least;
  std::string per_query;
  bool force = false;
  bool json = false;
  bool quiet = false;
};

struct RecallInputs {
  NeighbourLists truth;
  NeighbourLists run;
  std::optional<RowFile> base;
  std::optional<RowFile> queries;
};

void add_flags(Flags& flags, RecallArgs& args) {
  flags.required("--truth FILE", args.truth, kGroupInput, "True neighbours: .ibin or .bin (big-ann, DiskANN), .npz, .h5, .ivecs, .npy, .csv");
  flags.value("--truth-distances FILE", args.truth_distances, kGroupInput, "Their distances, where they are a file of their own");
  flags.required("--run FILE", args.run, kGroupInput, "The lists to judge, in any of these forms");
  flags.value("--run-distances FILE", args.run_distances, kGroupInput, "Their distances (read by ann-benchmarks alone)");
  flags.value("-b,--base FILE", args.base, kGroupInput, "The rows that were searched: ids are checked; with --queries, distances computed");
  flags.value("--queries FILE", args.queries, kGroupInput, "The rows that were searched for");
  flags.required("-k N", args.k, kGroupSearch, "Neighbours a query that count");
  flags.value("-m,--metric NAME", args.metric, kGroupSearch, "Of base and queries: l2 (default) | inner_product | cosine | ...");
  flags.value("--definition NAME", args.definition, kGroupSearch, "tie (default) | strict | ann-benchmarks | big-ann | diskann | faiss");
  flags.value("--min X", args.least, kGroupSearch, "Exit with status 4 when the recall is below X");
  flags.value("--per-query FILE.csv", args.per_query, kGroupOutput, "Write each query's recall");
  flags.toggle("--force", args.force, kGroupOutput, "Overwrite the CSV");
  flags.toggle("--json", args.json, kGroupOutput, "Print one JSON object, and nothing else, on stdout");
  flags.toggle("-q,--quiet", args.quiet, kGroupOutput, "No summary, no warnings: errors and the exit status only");
}

double parse_gate(const std::string& text) {
  const auto value = read_number<double>(text);
  if (!value || !(*value >= 0 && *value <= 1)) {
    fail(ErrorCode::invalid_argument, "--min {}: wanted a recall from 0 to 1", text);
  }
  return *value;
}

RecallOptions understand(const RecallArgs& args) {
  RecallOptions options;
  options.k = parse_integer("-k", args.k, 1, std::numeric_limits<Index>::max());
  const auto definition = parse_recall_definition(args.definition);
  if (!definition) {
    fail(ErrorCode::invalid_argument, "--definition {}: wanted one of tie, strict, ann-benchmarks, big-ann, diskann, faiss", args.definition);
  }
  options.definition = *definition;
  options.metric = parse_metric_flag(args.metric);
  if (!args.queries.empty() && args.base.empty()) fail(ErrorCode::invalid_argument, "--queries {}: --base is needed with it", args.queries);
  if (!args.least.empty()) parse_gate(args.least);
  if (args.per_query.empty()) return options;
  if (!args.per_query.ends_with(".csv")) fail(ErrorCode::invalid_argument, "--per-query {}: wanted a name that ends in .csv", args.per_query);
  for (const std::string& input : {args.truth, args.run, args.base, args.queries}) {
    if (same_file(args.per_query, input)) fail(ErrorCode::invalid_argument, "--per-query {}: that is an input", args.per_query);
  }
  check_writable(args.per_query, {.format = "csv", .overwrite = args.force});
  return options;
}

RecallInputs open_inputs(const RecallArgs& args) {
  RecallInputs inputs{.truth = read_neighbours(args.truth, args.truth_distances),
                      .run = read_neighbours(args.run, args.run_distances),
                      .base = std::nullopt,
                      .queries = std::nullopt};
  if (!args.base.empty()) inputs.base = open_rows(args.base);
  if (!args.queries.empty()) inputs.queries = open_rows(args.queries, {.role = RowRole::queries});
  return inputs;
}

/// The library speaks of truth, run, base and queries; a user thinks of files.
[[noreturn]] void rethrow_with_path(const Error& error, const RecallArgs& args) {
  const std::string message = error.what();
  const std::string& path = message.starts_with("run") ? args.run : message.starts_with("queries") ? args.queries : args.truth;
  fail(error.code(), "'{}': {}", path, message);
}

RecallResult judge(const RecallArgs& args, const RecallInputs& inputs, RecallOptions options) {
  if (inputs.base) options.base = inputs.base->rows();
  if (inputs.queries) options.queries = inputs.queries->rows();
  try {
    return recall(inputs.truth, inputs.run, options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::malformed_input) rethrow_with_path(error, args);
    throw;
  }
}

std::vector<std::string> find_warnings(const RecallArgs& args, const RecallInputs& inputs, const RecallResult& result) {
  std::vector<std::string> warnings;
  if (result.tie_overflow > 0) {
    warnings.push_back(fmt::format("{} queries have ties that reach the truth's last column: rows past it may tie too; give --base and "
                                   "--queries, or a deeper truth",
                                   result.tie_overflow));
  }
  if (inputs.truth.distances.empty() && args.queries.empty()) {
    warnings.emplace_back("the truth has no distances: of rows that tie, only those it lists count");
  }
  if (result.nearer_than_truth > 0) {
    warnings.push_back(fmt::format("{} queries were answered with rows nearer than the truth's k-th that it lacks: it is not exact",
                                   result.nearer_than_truth));
  }
  if (result.excluded > 0) warnings.push_back(fmt::format("{} queries have no true neighbour and are left out", result.excluded));
  return warnings;
}

/// JSON has no NaN: nothing to average is null.
Json number(double value) { return std::isnan(value) ? Json(nullptr) : Json(value); }

void print_report(const RecallArgs& args, const RecallOptions& options, const RecallResult& result,
                  const std::vector<std::string>& warnings, double seconds) {
  if (args.json) {
    Json json;
    json["command"] = "recall";
    json["version"] = version();
    json["truth"] = args.truth;
    json["run"] = args.run;
    json["definition"] = std::string(name_of(options.definition));
    json["k"] = options.k;
    json["recall"] = number(result.recall);
    json["recall_strict"] = number(result.recall_strict);
    json["min"] = number(result.min);
    json["p1"] = number(result.p1);
    json["p5"] = number(result.p5);
    json["p50"] = number(result.p50);
    json["queries"] = result.queries;
    json["excluded"] = result.excluded;
    json["tied"] = result.tied;
    json["tie_overflow"] = result.tie_overflow;
    json["repeats"] = result.repeats;
    json["missing"] = result.missing;
    json["nearer_than_truth"] = result.nearer_than_truth;
    json["gate"] = args.least.empty() ? Json(nullptr) : Json(parse_gate(args.least));
    json["seconds"] = {{"total", seconds}};
    json["peak_rss_bytes"] = peak_rss_bytes();
    json["warnings"] = warnings;
    print_json(json);
  } else if (!args.quiet) {
    fmt::print("recall     {:.6f} at k {} ({}); strict {:.6f}\n", result.recall, options.k, name_of(options.definition), result.recall_strict);
    fmt::print("per query  min {:.4f}, 1 % {:.4f}, 5 % {:.4f}, median {:.4f}\n", result.min, result.p1, result.p5, result.p50);
    fmt::print("queries    {} ({} left out, {} tied at the k-th place)\n", grouped(result.queries), result.excluded, result.tied);
    fmt::print("answers    {} repeated, {} missing\n", result.repeats, result.missing);
  }
  if (args.quiet) return;
  std::fflush(stdout);
  print_warnings(warnings);
}

void write_per_query(const RecallArgs& args, const RecallResult& result) {
  if (args.per_query.empty()) return;
  std::string text = "query,recall,strict,neighbours,repeats,missing,tied,tie_overflow\n";
  for (std::size_t i = 0; i < result.per_query.size(); ++i) {
    const QueryRecall& query = result.per_query[i];
    const auto cell = [](double value) { return std::isnan(value) ? std::string() : fmt::format("{}", value); };
    text += fmt::format("{},{},{},{},{},{},{},{}\n", i, cell(query.recall), cell(query.strict), query.neighbours, query.repeats,
                        query.missing, query.tied ? 1 : 0, query.tie_overflow ? 1 : 0);
  }
  write_text(args.per_query, text, args.force);
}

void run_recall(const RecallArgs& args, Interrupts& interrupts) {
  const Stopwatch watch;
  const RecallOptions options = understand(args);
  const RecallInputs inputs = open_inputs(args);
  const RecallResult result = judge(args, inputs, options);
  if (std::isnan(result.recall)) {
    fail(ErrorCode::malformed_input, "'{}': none of {} queries has a true neighbour at k {}: nothing can be judged; wanted a truth with ids", args.truth, result.queries, options.k);
  }
  interrupts.enter(Interrupts::Phase::writing);
  write_per_query(args, result);
  interrupts.enter(Interrupts::Phase::idle);
  print_report(args, options, result, find_warnings(args, inputs, result), watch.total());
  if (args.least.empty()) return;
  const double least = parse_gate(args.least);
  if (!(result.recall >= least)) throw GateMissed(fmt::format("recall {:.6f} is below --min {}", result.recall, args.least));
}

}  // namespace

Command add_recall(CLI::App& root) {
  const auto args = std::make_shared<RecallArgs>();
  Flags flags(root, "recall", kDescription, kFooter);
  add_flags(flags, *args);
  return {.app = flags.app(), .run = [args](Interrupts& interrupts) { run_recall(*args, interrupts); }};
}

}  // namespace tessera::cli
