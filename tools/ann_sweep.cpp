// SPDX-License-Identifier: Apache-2.0
// `tessera ann sweep`: recall against speed of indices over their settings, beside the exact path.
#include "ann_sweep.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "ann.hpp"
#include "fail.hpp"
#include "faiss_output.hpp"
#include "mapped_inputs.hpp"
#include "numbers.hpp"
#include "tessera/knn.hpp"

namespace tessera::cli {
namespace {

constexpr Index kDefaultQueries = 1000;

constexpr const char* kDescription =
    "Measure recall against speed over the settings of FAISS indices.\n"
    "\n"
    "The exact answer is computed once and judges every point; the exact search is a point too. Each\n"
    "index tries powers of two of its settings until one reaches recall 0.9995. Writes JSON, and a\n"
    "CSV beside it; scripts/plot_sweep.py draws them and makes a page.\n";
constexpr const char* kFooter =
    "Examples:\n"
    "  tessera ann sweep -b b.fbin --queries q.fbin -k 10 --index HNSW32 --index IVF1024,Flat -o s.json\n"
    "  tessera ann sweep -b emb.npy --queries q.npy -k 10 -m cosine --index IVF100_HNSW32,Flat\n"
    "  tessera ann sweep -b b.fbin --queries q.fbin -k 10 --index-file b.faiss --set nprobe=1,4,16\n"
    "  scripts/plot_sweep.py sweep.json           sweep.png, sweep.svg and sweep.html\n"
    "\n"
    "The first 1,000 queries are taken unless --query-rows says otherwise.";

struct SweepArgs {
  AnnArgs ann;
  std::string base;
  std::string queries;
  std::string query_rows;
  std::string k;
  std::vector<std::string> index;
  std::vector<std::string> index_file;
  std::vector<std::string> set;
  std::string truth;
  std::string seconds = "1";
};

struct Request {
  Index k = 0;
  Metric metric = Metric::l2;
  SettingLists settings;
  SweepOptions options;
  ReadOptions read_queries;
  ProgressMode progress = ProgressMode::automatic;
};

std::string csv_path(const std::string& json_path) { return json_path.substr(0, json_path.size() - 5) + ".csv"; }

double parse_seconds(const std::string& text) {
  const auto value = read_number<double>(text);
  if (!value || !(*value >= 0 && *value <= 3600)) {
    fail(ErrorCode::invalid_argument, "--seconds {}: wanted seconds a point, 0 to 3600", text);
  }
  return *value;
}

Request understand(const SweepArgs& args, Interrupts& interrupts) {
  Request request;
  request.k = parse_integer("-k", args.k, 1, std::numeric_limits<Index>::max() / 4);
  request.metric = parse_metric_flag(args.ann.metric.empty() ? "l2" : args.ann.metric);
  request.settings = parse_settings(args.set);
  request.options.k = request.k;
  request.options.threads = ann_threads(args.ann);
  request.options.seconds_per_point = parse_seconds(args.seconds);
  request.options.stop = interrupts.token();
  request.read_queries = query_range(args.ann, args.query_rows);
  request.progress = parse_progress_mode(args.ann.print.progress);
  if (args.index.empty() && args.index_file.empty()) {
    fail(ErrorCode::invalid_argument, "an index is needed: --index STRING or --index-file FILE, as often as you like");
  }
  if (args.ann.out.empty()) return request;
  if (!args.ann.out.ends_with(".json")) fail(ErrorCode::invalid_argument, "-o {}: wanted a name that ends in .json", args.ann.out);
  for (const std::string& path : {args.ann.out, csv_path(args.ann.out)}) check_writable(path, {.format = "csv", .overwrite = args.ann.force});
  return request;
}

/// Reads the truth, or computes it and keeps it where it was asked for. Deeper than k, so that ties at the k-th place are seen.
NeighbourLists find_truth(const SweepArgs& args, const Request& request, const RowSet& base, const RowSet& queries) {
  if (!args.truth.empty() && std::filesystem::exists(file_of(args.truth))) {
    NeighbourLists truth = read_neighbours(args.truth);
    // Its ids and distances are held against the data here, once, not at every point.
    recall(truth, truth, {.k = std::min(request.k, truth.k), .base = base, .queries = queries, .metric = request.metric});
    return truth;
  }
  const Index deep = std::max(request.k, std::min(2 * request.k + 16, base.rows));
  const Neighbours found = knn(queries, base, deep, {.metric = {request.metric}, .threads = request.options.threads, .stop = request.options.stop});
  if (!args.truth.empty()) write_neighbours(args.truth, found);
  return {.rows = found.rows, .k = found.k, .ids = found.ids, .distances = {found.distances.begin(), found.distances.end()}};
}

/// All combinations of the values asked for that this index has settings for; none asked for: its defaults.
std::vector<AnnSettings> combine(const SettingLists& lists, AnnIndex& index, std::vector<bool>& taken) {
  std::vector<AnnSettings> combined;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto& [name, values] = lists[i];
    if (!index.set({name, values[0]})) continue;
    taken[i] = true;
    if (combined.empty()) combined.emplace_back();
    std::vector<AnnSettings> longer;
    for (const AnnSettings& settings : combined) {
      for (const double value : values) {
        longer.push_back(settings);
        longer.back().push_back({name, value});
      }
    }
    combined = std::move(longer);
  }
  return combined;
}

class Sweeper {
 public:
  Sweeper(const SweepArgs& args, const Request& request, const RowSet& base, const RowSet& queries)
      : args_(args), request_(request), base_(base), queries_(queries), taken_(request.settings.size(), false) {}

  SweepReport run() {
    report_.metric = request_.metric;
    report_.k = request_.k;
    say("exact search");
    const NeighbourLists truth = find_truth(args_, request_, base_, queries_);
    report_.truth = args_.truth.empty() ? "computed" : args_.truth;
    report_.truth_k = truth.k;
    report_.exact = measure_exact(base_, queries_, request_.metric, request_.options);
    say_point("exact", report_.exact.point);
    for (const std::string& factory : args_.index) {
      say(fmt::format("{}: building", factory));
      AnnIndex index = AnnIndex::build(base_, factory,
                                       {.metric = request_.metric, .threads = request_.options.threads, .memory = ann_memory(args_.ann),
                                        .stop = request_.options.stop});
      add(factory, true, index, truth);
    }
    for (const std::string& path : args_.index_file) {
      AnnIndex index = AnnIndex::load(path, request_.metric);
      check_file(path, index);
      add(path, false, index, truth);
    }
    check_settings_taken();
    finish();
    return std::move(report_);
  }

 private:
  void add(const std::string& name, bool built, AnnIndex& index, const NeighbourLists& truth) {
    SweepOptions options = request_.options;
    options.settings = combine(request_.settings, index, taken_);
    options.on_point = [&](const SweepPoint& point) { say_point(name, point); };
    report_.indexes.push_back({.name = name, .built = built, .build = index.report(), .bytes = index.bytes(),
                               .points = sweep(index, queries_, truth, options)});
    if (index.report().zero_rows > 0) {
      report_.warnings.push_back(fmt::format("{} base rows are zero: cosine distance 1 to every query", index.report().zero_rows));
    }
  }

  void check_file(const std::string& path, const AnnIndex& index) const {
    if (index.cols() == base_.cols && index.rows() == base_.rows) return;
    fail(ErrorCode::malformed_input, "'{}' indexes {} rows of {} columns, '{}' has {} of {}: an index of another base", path, index.rows(),
         index.cols(), args_.base, base_.rows, base_.cols);
  }

  void check_settings_taken() const {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (!taken_[i]) fail(ErrorCode::invalid_argument, "--set {}: none of these indices has it", request_.settings[i].first);
    }
  }

  void finish() {
    std::vector<SweepPoint*> all = {&report_.exact.point};
    for (SweptIndex& index : report_.indexes) {
      for (SweepPoint& point : index.points) all.push_back(&point);
    }
    mark_pareto(std::move(all));
  }

  void say(const std::string& text) const {
    if (!args_.ann.print.quiet && request_.progress != ProgressMode::never) fmt::print(stderr, "{}\n", text);
  }
  void say_point(const std::string& name, const SweepPoint& point) const {
    say(fmt::format("{}{}{}: recall {:.4f}, {} queries/s, p99 {:.3g} ms", name, point.settings.empty() ? "" : " ", point.settings, point.recall,
                    human_count(point.queries_per_second), point.latency.p99));
  }

  const SweepArgs& args_;
  const Request& request_;
  const RowSet& base_;
  const RowSet& queries_;
  std::vector<bool> taken_;
  SweepReport report_;
};

/// The library speaks of "base" and "queries"; a user thinks of files.
[[noreturn]] void rethrow_with_path(const Error& error, const SweepArgs& args) {
  const std::string message = error.what();
  if (message.starts_with("'")) fail(error.code(), "{}", message);
  const std::string& path = message.starts_with("queries") ? args.queries : message.starts_with("truth") ? args.truth : args.base;
  fail(error.code(), "'{}': {}", path, message);
}

void run_sweep(const SweepArgs& args, Interrupts& interrupts) {
  check_has_ann();
  const Stopwatch watch;
  Request request = understand(args, interrupts);
  const RowFile base = open_rows(args.base, {.format = args.ann.in_format});
  const RowFile queries = open_rows(args.queries, request.read_queries);
  RowSet rows = queries.rows();
  if (args.query_rows.empty()) rows = slice(rows, 0, std::min(rows.rows, kDefaultQueries));
  if (rows.cols != base.rows().cols) {
    fail(ErrorCode::malformed_input, "'{}' has {} columns, '{}' has {}: queries and base must have the same number", args.queries, rows.cols,
         args.base, base.rows().cols);
  }
  if (rows.rows == 0 || base.rows().rows == 0) fail(ErrorCode::malformed_input, "'{}': no rows", rows.rows == 0 ? args.queries : args.base);
  interrupts.enter(Interrupts::Phase::computing);
  SweepReport report;
  try {
    const FaissOutput apart(args.ann.print.quiet);
    report = Sweeper(args, request, base.rows(), rows).run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::malformed_input) rethrow_with_path(error, args);
    throw;
  }
  interrupts.enter(Interrupts::Phase::writing);
  report.base = summarize(base);
  report.queries = summarize(queries);
  report.queries.rows = rows.rows;
  report.threads = request.options.threads;
  report.seconds = watch.total();
  const std::string json = sweep_json(report);
  if (!args.ann.out.empty()) {
    write_text(args.ann.out, json + "\n", args.ann.force);
    write_text(csv_path(args.ann.out), sweep_csv(report), args.ann.force);
  }
  interrupts.enter(Interrupts::Phase::idle);
  if (args.ann.print.json) {
    fmt::print("{}\n", json);
  } else if (!args.ann.print.quiet) {
    fmt::print("{}", sweep_text(report));
    if (!args.ann.out.empty()) fmt::print("written  {}, {}\n", args.ann.out, csv_path(args.ann.out));
  }
  if (args.ann.print.quiet) return;
  std::fflush(stdout);
  print_warnings(report.warnings);
}

}  // namespace

Command add_ann_sweep(CLI::App& group) {
  const auto args = std::make_shared<SweepArgs>();
  Flags flags(group, "sweep", kDescription, kFooter);
  flags.required("-b,--base FILE", args->base, kGroupInput, "The rows. FILE:NAME picks an array of a container");
  flags.required("--queries FILE", args->queries, kGroupInput, "Rows to search for");
  flags.value("--query-rows A:B", args->query_rows, kGroupInput, "Only these rows of the queries (default: the first 1,000)");
  flags.value("--truth FILE", args->truth, kGroupInput, "Exact answers at least k deep; where there is no such file, they are kept there");
  flags.required("-k N", args->k, kGroupSearch, "Neighbours per query, at least 1");
  flags.value("-m,--metric NAME", args->ann.metric, kGroupSearch, "l2 (default) | sqeuclidean | inner_product | cosine");
  flags.values("--index STRING", args->index, kGroupSearch, "FAISS factory string; give several");
  flags.values("--index-file FILE", args->index_file, kGroupSearch, "An index of this base, as FAISS writes it; give several");
  flags.values("--set NAME=V,V,...", args->set, kGroupSearch, "Values to try, for the indices that have the setting; all combinations");
  flags.value("--seconds X", args->seconds, kGroupSearch, "Spent a timing, five repeats at most (default: 1)");
  flags.value("-o,--out FILE.json", args->ann.out, kGroupOutput, "The report; FILE.csv is written beside it");
  add_ann_options(flags, args->ann);
  return {.app = flags.app(), .run = [args](Interrupts& interrupts) { run_sweep(*args, interrupts); }};
}

}  // namespace tessera::cli
