// SPDX-License-Identifier: Apache-2.0
// `tessera bench`: times searches, and holds them against what the machine can do.
#include "bench.hpp"

#include <limits>
#include <memory>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "args.hpp"
#include "commands.hpp"
#include "mapped_inputs.hpp"
#include "tessera/info.hpp"
#include "tessera/knn.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kDescription =
    "Time exact searches, and hold them against this machine's measured peak.\n"
    "\n"
    "Without -b, rows are drawn from a normal distribution with a fixed seed: one run for every\n"
    "combination of --rows, --dims and -k. With -b FILE these rows are searched. Each run is\n"
    "warmed up once and repeated; the table gives medians, and JSON every spread.\n";

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera bench                                        100,000 rows, d 3 to 768, k 10\n"
    "  tessera bench --rows 10000,1000000 --dims 128 -k 1,10,100\n"
    "  tessera bench -b base.fbin --queries q.fbin -k 10 --json > bench.json\n"
    "  tessera bench --dims 32 --threads 1 --screen double\n"
    "\n"
    "\"of peak\": 2 x d x pairs / search seconds / the fp32 peak, whatever a screen really spends; int8\n"
    "or pruned tiles may pass 100 %. Anything else that runs lowers the peak and the speed.";

struct BenchArgs {
  std::string base;
  std::string queries;
  std::string in_format;
  std::string rows = "100000";
  std::string dims = "3,32,100,768";
  std::string query_rows = "1000";
  std::string k = "10";
  std::string rounds = "5";
  std::string metric = "l2";
  PrintArgs print;
  SpeedArgs speed;
};

constexpr Index kMost = std::numeric_limits<std::int32_t>::max();  // chosen: of any count; past every machine

std::vector<Index> parse_list(std::string_view flag, std::string_view text) {
  std::vector<Index> numbers;
  while (true) {
    const auto comma = text.find(',');
    numbers.push_back(parse_integer(flag, text.substr(0, comma), 1, kMost));
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

/// What is timed.
struct Request {
  KnnOptions knn;
  std::vector<Index> rows;
  std::vector<Index> dims;
  std::vector<Index> ks;
  Index query_rows = 0;
  Index rounds = 0;
  ProgressMode progress = ProgressMode::automatic;
};

Request understand(const BenchArgs& args) {
  Request request;
  request.rows = parse_list("--rows", args.rows);
  request.dims = parse_list("--dims", args.dims);
  request.ks = parse_list("-k", args.k);
  request.query_rows = parse_integer("--query-rows", args.query_rows, 1, kMost);
  request.rounds = parse_integer("--rounds", args.rounds, 1, kMost);
  request.knn.metric.metric = parse_metric_flag(args.metric);
  request.progress = parse_progress_mode(args.print.progress);
  apply_speed_options(args.speed, request.knn);
  if (args.base.empty() && !args.queries.empty()) fail(ErrorCode::invalid_argument, "--queries: only with -b");
  return request;
}

/// Rows of a normal distribution; their elements and what reports call them.
class NormalRows {
 public:
  NormalRows(Index rows, Index cols, std::uint64_t seed) : values_(static_cast<std::size_t>(rows * cols)), rows_(rows), cols_(cols) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    for (float& value : values_) value = normal(random);
  }
  RowSet view() const noexcept { return dense(values_.data(), rows_, cols_); }
  InputSummary summary() const { return {.path = "normal", .format = "synthetic", .rows = rows_, .cols = cols_, .dtype = DType::f32}; }

 private:
  std::vector<float> values_;  // [rows, cols]
  Index rows_;
  Index cols_;
};

/// A set of rows with its name in reports.
struct NamedRows {
  RowSet rows;
  InputSummary summary;
};

/// Measures runs one after another, telling how many are done.
class Bench {
 public:
  Bench(const Request& request, const BenchArgs& args, Interrupts& interrupts)
      : request_(request), options_(request.knn), progress_(request.progress, args.print.quiet), show_(progress_.function()) {
    result_.metric = request.knn.metric.metric;
    result_.rounds = request.rounds;
    result_.threads = request.knn.threads > 0 ? request.knn.threads : build_info().threads;
    options_.stop = interrupts.token();
    interrupts.enter(Interrupts::Phase::computing);
    result_.peak = measure_peak(result_.threads);
  }

  /// `of` is the number of runs in all.
  void run(const NamedRows& queries, const NamedRows& base, Index k, std::size_t of) {
    std::vector<double> prepare, search, total;
    BenchRun run{.base = base.summary, .queries = queries.summary, .k = k, .report = {}, .prepare = {}, .search = {}, .total = {}};
    for (Index round = 0; round <= request_.rounds; ++round) {  // round 0 warms up
      run.report = knn(queries.rows, base.rows, k, options_).report;
      tell(round, of);
      if (round == 0) continue;
      prepare.push_back(run.report.seconds_prepare);
      search.push_back(run.report.seconds_search);
      total.push_back(prepare.back() + search.back());
    }
    run.prepare = spread_of(std::move(prepare));
    run.search = spread_of(std::move(search));
    run.total = spread_of(std::move(total));
    result_.runs.push_back(std::move(run));
  }

  BenchResult take() {
    progress_.clear();
    return std::move(result_);
  }

 private:
  void tell(Index round, std::size_t of) {
    if (!show_) return;
    const auto rounds = static_cast<double>(request_.rounds + 1);
    show_({.phase = "bench",
           .done = static_cast<double>(result_.runs.size()) * rounds + static_cast<double>(round + 1),
           .total = static_cast<double>(of) * rounds});
  }

  const Request& request_;
  KnnOptions options_;
  ProgressPrinter progress_;
  ProgressFunction show_;
  BenchResult result_;
};

void run_on_files(Bench& bench, const Request& request, const BenchArgs& args) {
  const RowFile base = open_rows(args.base, {.format = args.in_format});
  std::optional<RowFile> queries;
  if (!args.queries.empty()) queries = open_rows(args.queries, {.format = args.in_format, .role = RowRole::queries});
  const NamedRows base_rows{base.rows(), summarize(base)};
  NamedRows query_rows = queries ? NamedRows{queries->rows(), summarize(*queries)} : base_rows;
  if (!queries) {  // as many of the base's own rows
    query_rows.rows = slice(base_rows.rows, 0, std::min(request.query_rows, base_rows.rows.rows));
    query_rows.summary.rows = query_rows.rows.rows;
  }
  for (const Index k : request.ks) bench.run(query_rows, base_rows, k, request.ks.size());
}

void run_on_normal_rows(Bench& bench, const Request& request) {
  const std::size_t runs = request.rows.size() * request.dims.size() * request.ks.size();
  for (const Index d : request.dims) {
    const NormalRows queries(request.query_rows, d, 1);
    for (const Index n : request.rows) {
      const NormalRows base(n, d, 2);
      for (const Index k : request.ks) bench.run({queries.view(), queries.summary()}, {base.view(), base.summary()}, k, runs);
    }
  }
}

void run_bench(const BenchArgs& args, Interrupts& interrupts) {
  const Request request = understand(args);
  Bench bench(request, args, interrupts);
  if (args.base.empty()) {
    run_on_normal_rows(bench, request);
  } else {
    run_on_files(bench, request, args);
  }
  const BenchResult result = bench.take();
  fmt::print("{}", args.print.json ? bench_json(result) + "\n" : bench_text(result));
}

}  // namespace

Command add_bench(CLI::App& root) {
  const auto args = std::make_shared<BenchArgs>();
  Flags flags(root, "bench", kDescription, kFooter);
  flags.value("-b,--base FILE", args->base, kGroupInput, "Rows to search, instead of normal ones");
  flags.value("--queries FILE", args->queries, kGroupInput, "Rows to search for (default: the base's first rows)");
  flags.value("--in-format NAME", args->in_format, kGroupInput, "Format of both, where the suffix doesn't tell");
  flags.value("--rows N,...", args->rows, kGroupInput, "Base rows (default 100000)");
  flags.value("--dims D,...", args->dims, kGroupInput, "Columns (default 3,32,100,768)");
  flags.value("--query-rows N", args->query_rows, kGroupInput, "Queries (default 1000); with -b alone, so many of its rows");
  flags.value("-k N,...", args->k, kGroupSearch, "Neighbours per query (default 10)");
  flags.value("-m,--metric NAME", args->metric, kGroupSearch, "As for topk but periodic (default l2)");
  flags.value("--rounds N", args->rounds, kGroupSearch, "Timed repetitions (default 5), after one that warms up");
  add_print_options(flags, args->print);
  add_speed_options(flags, args->speed);
  return {.app = flags.app(), .run = [args](Interrupts& interrupts) { run_bench(*args, interrupts); }};
}

}  // namespace tessera::cli
