// SPDX-License-Identifier: Apache-2.0
// `tessera ann build` and `tessera ann search`: FAISS indices from files of rows, and their answers in our formats.
#include "ann.hpp"

#include <cstdio>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ann_sweep.hpp"
#include "commands.hpp"
#include "fail.hpp"
#include "faiss_output.hpp"
#include "mapped_inputs.hpp"
#include "neighbour_table.hpp"
#include "tessera/info.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kBuildDescription =
    "Build a FAISS index of the base rows and write it as FAISS does.\n"
    "\n"
    "Training takes a sample by a fixed seed, adding goes in batches within the memory budget. Rows\n"
    "enter as float32; for cosine they are normalised first.\n";
constexpr const char* kBuildFooter =
    "Examples:\n"
    "  tessera ann build -b base.fbin -m l2 --index IVF1024,Flat -o base.faiss\n"
    "  tessera ann build -b emb.npy -m cosine --index IVF100_HNSW32,Flat -o emb.faiss\n"
    "  tessera graph -b base.fbin -k 64 -o g_knn.npz\n"
    "  tessera ann build -b base.fbin --index NSG32 --graph g_knn.npz -o nsg.faiss\n"
    "\n"
    "Read one in Python: faiss.read_index(\"base.faiss\"). For cosine, search it with normalised queries.";

constexpr const char* kSearchDescription =
    "Search a FAISS index file.\n"
    "\n"
    "Distances are FAISS's, reported by Tessera's rules: l2 as a root, cosine as 1 - s. A file does not\n"
    "say whether it was built for cosine: say -m cosine, and the queries are normalised.\n";
constexpr const char* kSearchFooter =
    "Examples:\n"
    "  tessera ann search --index-file base.faiss --queries q.fbin -k 10 --set nprobe=16 -o run.npz\n"
    "  tessera ann search --index-file emb.faiss -m cosine --queries q.npy -k 10 --set nprobe=8\n"
    "  tessera recall --truth gt.npz --run run.npz -k 10";

constexpr const char* kGroupDescription =
    "Build, search and judge approximate indices (FAISS).\n"
    "\n"
    "Index strings are FAISS factory strings: HNSW32, IVF1024,Flat, IVF100_HNSW32,Flat, NSG32 ...\n";
constexpr const char* kGroupFooter =
    "Examples:\n"
    "  tessera ann build -b base.fbin --index HNSW32 -o base.faiss\n"
    "  tessera ann search --index-file base.faiss --queries q.fbin -k 10 --set efSearch=64 -o run.npz\n"
    "  tessera ann sweep -b base.fbin --queries q.fbin -k 10 --index HNSW32 -o sweep.json\n";

struct BuildArgs {
  AnnArgs ann;
  std::string base;
  std::string index;
  std::string graph;
  std::string train_rows;
};

struct SearchArgs {
  AnnArgs ann;
  std::string index_file;
  std::string queries;
  std::string query_rows;
  std::string k;
  std::vector<std::string> set;
};

std::optional<Neighbours> read_graph(const std::string& path) {
  if (path.empty()) return std::nullopt;
  NeighbourLists lists = read_neighbours(path);
  return Neighbours{.rows = lists.rows, .k = lists.k, .ids = std::move(lists.ids), .distances = {}, .distances64 = {}, .shifts = {}, .report = {}};
}

AnnIndex build(const BuildArgs& args, const RowFile& base, Interrupts& interrupts) {
  const std::optional<Neighbours> graph = read_graph(args.graph);
  ProgressPrinter progress(parse_progress_mode(args.ann.print.progress), args.ann.print.quiet);
  AnnBuildOptions options{.metric = parse_metric_flag(args.ann.metric.empty() ? "l2" : args.ann.metric),
                          .threads = ann_threads(args.ann),
                          .memory = ann_memory(args.ann),
                          .graph = graph ? &*graph : nullptr,
                          .progress = progress.function(),
                          .stop = interrupts.token()};
  if (!args.train_rows.empty()) options.train_rows = parse_integer("--train-rows", args.train_rows, 1, std::numeric_limits<Index>::max());
  const FaissOutput apart(args.ann.print.quiet);
  try {
    return AnnIndex::build(base.rows(), args.index, options);  // nothing is on disk yet, and FAISS's training polls nothing: a signal ends it
  } catch (const Error& error) {
    const bool of_graph = std::string(error.what()).starts_with("the graph");
    if (error.code() == ErrorCode::malformed_input) fail(error.code(), "'{}': {}", of_graph ? args.graph : args.base, error.what());
    throw;
  }
}

void print_build(const BuildArgs& args, const RowFile& base, const AnnIndex& index, double seconds) {
  const AnnBuildReport& report = index.report();
  const std::uint64_t bytes = index.bytes();
  if (args.ann.print.json) {
    print_json({{"command", "ann build"},
                {"version", version()},
                {"faiss", faiss_version()},
                {"metric", std::string(name_of(index.metric()))},
                {"index", args.index},
                {"graph", args.graph.empty() ? Json(nullptr) : Json(args.graph)},
                {"base", to_json(summarize(base))},
                {"out", args.ann.out},
                {"bytes", bytes},
                {"train_rows", report.train_rows},
                {"zero_rows", report.zero_rows},
                {"seconds", {{"train", report.seconds_train}, {"add", report.seconds_add}, {"total", seconds}}},
                {"peak_rss_bytes", peak_rss_bytes()}});
  } else if (!args.ann.print.quiet) {
    fmt::print("base     {}\n", to_text(summarize(base)));
    fmt::print("index    {}, {}, FAISS {}, {}\n", args.index, name_of(index.metric()), faiss_version(), human_bytes(static_cast<double>(bytes)));
    fmt::print("time     {} (train {} on {} rows, add {})\n", human_seconds(seconds), human_seconds(report.seconds_train),
               grouped(report.train_rows), human_seconds(report.seconds_add));
    fmt::print("written  {}\n", args.ann.out);
  }
  if (report.zero_rows > 0 && !args.ann.print.quiet) {
    print_warnings({fmt::format("{} base rows are zero: cosine distance 1 to every query", report.zero_rows)});
  }
}

void run_build(const BuildArgs& args, Interrupts& interrupts) {
  check_has_ann();
  const Stopwatch watch;
  for (const std::string& input : {args.base, args.graph}) {
    if (same_file(args.ann.out, input)) fail(ErrorCode::invalid_argument, "-o {}: that is an input; choose another name", args.ann.out);
  }
  check_writable(args.ann.out, {.format = "npz", .overwrite = args.ann.force});
  const RowFile base = open_rows(args.base, {.format = args.ann.in_format});
  const AnnIndex index = build(args, base, interrupts);
  interrupts.enter(Interrupts::Phase::writing);
  index.save(args.ann.out, args.ann.force);
  interrupts.enter(Interrupts::Phase::idle);
  print_build(args, base, index, watch.total());
}

AnnSettings single_settings(const std::vector<std::string>& texts) {
  AnnSettings settings;
  for (const auto& [name, values] : parse_settings(texts)) {
    if (values.size() != 1) fail(ErrorCode::invalid_argument, "--set {}: one value is wanted here; sweep tries several", name);
    settings.push_back({name, values[0]});
  }
  return settings;
}

void print_search(const SearchArgs& args, const AnnIndex& index, const RowFile& queries, const AnnSettings& settings, Index k, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(queries.rows().rows) / seconds : 0;
  if (args.ann.print.json) {
    print_json({{"command", "ann search"},
                {"version", version()},
                {"faiss", faiss_version()},
                {"metric", std::string(name_of(index.metric()))},
                {"k", k},
                {"settings", to_string(settings)},
                {"index_file", args.index_file},
                {"index_rows", index.rows()},
                {"queries", to_json(summarize(queries))},
                {"out", args.ann.out.empty() ? Json(nullptr) : Json(args.ann.out)},
                {"queries_per_second", rate},
                {"seconds", {{"search", seconds}}},
                {"peak_rss_bytes", peak_rss_bytes()}});
  } else if (!args.ann.print.quiet) {
    fmt::print("index    {} rows x {}, {}  {}\n", grouped(index.rows()), index.cols(), name_of(index.metric()), args.index_file);
    fmt::print("queries  {}\n", to_text(summarize(queries)));
    fmt::print("search   k {}{}{}: {} ({} queries/s)\n", k, settings.empty() ? "" : ", ", to_string(settings), human_seconds(seconds), human_count(rate));
    if (!args.ann.out.empty()) fmt::print("written  {}\n", args.ann.out);
  }
}

void run_search(const SearchArgs& args, Interrupts& interrupts) {
  check_has_ann();
  const Index k = parse_integer("-k", args.k, 1, std::numeric_limits<Index>::max());
  const AnnSettings settings = single_settings(args.set);
  const int threads = ann_threads(args.ann);
  ann_memory(args.ann);  // a search copies no rows to speak of; what is wrong is still refused
  parse_progress_mode(args.ann.print.progress);
  if (!args.ann.out.empty()) check_writable(args.ann.out, {.overwrite = args.ann.force});
  const std::optional<Metric> metric = args.ann.metric.empty() ? std::nullopt : std::optional(parse_metric_flag(args.ann.metric));
  const RowFile queries = open_rows(args.queries, query_range(args.ann, args.query_rows));
  AnnIndex index = [&] {
    const FaissOutput apart(args.ann.print.quiet);
    return AnnIndex::load(args.index_file, metric);
  }();
  if (queries.rows().cols != index.cols()) {
    fail(ErrorCode::malformed_input, "'{}' has {} columns, the index '{}' has {}: wanted the same dimension", args.queries, queries.rows().cols,
         args.index_file, index.cols());
  }
  Stopwatch watch;
  const Neighbours found = [&] {
    const FaissOutput apart(args.ann.print.quiet);
    return index.search(queries.rows(), k, settings, threads);
  }();
  const double seconds = watch.lap();
  if (!args.ann.out.empty()) {
    interrupts.enter(Interrupts::Phase::writing);
    write_neighbours(args.ann.out, found, {.overwrite = args.ann.force});
    interrupts.enter(Interrupts::Phase::idle);
  } else if (!args.ann.print.json) {
    print_preview(found, queries.rows().first_id);
  }
  print_search(args, index, queries, settings, k, seconds);
}

Command add_build(CLI::App& group) {
  const auto args = std::make_shared<BuildArgs>();
  Flags flags(group, "build", kBuildDescription, kBuildFooter);
  flags.required("-b,--base FILE", args->base, kGroupInput, "The rows. FILE:NAME picks an array of a container");
  flags.value("--graph FILE", args->graph, kGroupInput, "NSG, HNSW: neighbour lists of the base (tessera graph -o NAME_knn.npz)");
  flags.required("--index STRING", args->index, kGroupSearch, "FAISS factory string");
  flags.value("-m,--metric NAME", args->ann.metric, kGroupSearch, "l2 (default) | sqeuclidean | inner_product | cosine");
  flags.value("--train-rows N", args->train_rows, kGroupSearch, "Rows trained on (default: 256 a list, at least 65,536)");
  flags.required("-o,--out FILE", args->ann.out, kGroupOutput, "The index file");
  add_ann_options(flags, args->ann);
  return {.app = flags.app(), .run = [args](Interrupts& interrupts) { run_build(*args, interrupts); }};
}

Command add_search(CLI::App& group) {
  const auto args = std::make_shared<SearchArgs>();
  Flags flags(group, "search", kSearchDescription, kSearchFooter);
  flags.required("--index-file FILE", args->index_file, kGroupInput, "An index as FAISS writes it");
  flags.required("--queries FILE", args->queries, kGroupInput, "Rows to search for");
  flags.value("--query-rows A:B", args->query_rows, kGroupInput, "Only these rows of the queries");
  flags.required("-k N", args->k, kGroupSearch, "Neighbours per query, at least 1");
  flags.value("-m,--metric NAME", args->ann.metric, kGroupSearch, "What the index was built for (default: l2 or inner_product, as the file says)");
  flags.values("--set NAME=VALUE", args->set, kGroupSearch, "A search setting: nprobe, efSearch, quantizer_efSearch, search_L, ...");
  flags.value("-o,--out FILE", args->ann.out, kGroupOutput, "Where to, by suffix: " + join(writable_formats()));
  add_ann_options(flags, args->ann);
  return {.app = flags.app(), .run = [args](Interrupts& interrupts) { run_search(*args, interrupts); }};
}

}  // namespace

Command add_ann(CLI::App& root) {
  Flags flags(root, "ann", kGroupDescription, kGroupFooter);
  flags.require_command();
  return {.app = flags.app(),
          .run = {},
          .commands = {add_build(*flags.app()), add_search(*flags.app()), add_ann_sweep(*flags.app())}};
}

}  // namespace tessera::cli
