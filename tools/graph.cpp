// SPDX-License-Identifier: Apache-2.0
// `tessera graph`: the kNN graph of a set, in the form its consumer reads.
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands.hpp"
#include "fail.hpp"
#include "graph.hpp"
#include "mapped_inputs.hpp"
#include "numbers.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kDescription =
    "Write the exact k-nearest-neighbour graph of a set of rows.\n"
    "\n"
    "Neighbours are those of `tessera topk`. A sparse matrix keeps zeros (duplicates are neighbours\n"
    "too); its rows ascend by distance, symmetrised ones by index. Rows are numbered from 0 within\n"
    "what was read; only lists without --preset keep the file's row numbers.\n";

std::string footer() {
  return "Presets fix what the consumer relies on:\n" + preset_lines() +
         "\n"
         "Examples:\n"
         "  tessera graph -b points.npy -k 15 -o graph.npz               CSR for scipy.sparse.load_npz\n"
         "  tessera graph -b points.npy -k 15 -m cosine -o knn.npz --preset umap\n"
         "  tessera graph -b points.npy -k 15 -o lists_knn.npz           ids and distances [n, k]\n"
         "  tessera graph -b points.npy -k 10 --symmetrize mutual --weights jaccard -o g.metis\n"
         "  tessera graph -b points.npy -k 10 --symmetrize union -o g.edges    a line an edge";
}

void add_flags(Flags& flags, GraphArgs& args) {
  flags.required("-b,--base FILE", args.base, kGroupInput, "The rows. FILE:NAME picks an array of a container");
  flags.value("--base-rows A:B", args.base_rows, kGroupInput, "Only rows A to B-1, counted from 0; A: and :B leave an end open");
  flags.value("--in-format NAME", args.in_format, kGroupInput,
              "Format of the input, where the suffix doesn't tell. Read here: " + join(readable_formats()));
  flags.required("-k N", args.k, kGroupSearch, "Neighbours a row, at least 1");
  flags.value("-m,--metric NAME", args.metric, kGroupSearch, "As for topk: l2 (default) | sqeuclidean | inner_product | cosine | ... | wasserstein");
  add_cell_options(flags, args.cell);
  add_distribution_options(flags, args.distribution);
  flags.value("--self MODE", args.self, kGroupSearch, "What a row does with itself: exclude (default) | first | natural");
  flags.value("--nan POLICY", args.nan, kGroupSearch, "Rows with NaN or inf: error (default) | skip: they get no edges");
  flags.value("--symmetrize HOW", args.symmetrize, kGroupSearch, "none (default) | union | mutual");
  flags.value("--weights WHAT", args.weights, kGroupSearch, "distance (default) | connectivity | heat | jaccard");
  flags.value("--sigma X", args.sigma, kGroupSearch,
              "Of heat, exp(-d^2/(2 X^2)) (default: the lower median of the rows' last distances)");
  flags.value("--preset NAME", args.preset, kGroupSearch, preset_names());
  flags.value("-o,--out FILE", args.out, kGroupOutput,
              ".npz (CSR), NAME_knn.npz (lists), .edges, .metis (default: the summary alone)");
  flags.toggle("--force", args.force, kGroupOutput, "Overwrite the output file");
  flags.value("--distances DTYPE", args.distances, kGroupOutput, "float32 (default) | float64");
  add_print_options(flags, args.print);
  add_speed_options(flags, args.speed);
}

/// The value of a flag, or the preset's; a preset that settled it is not to be contradicted.
template <class T>
T settle(std::string_view flag, const std::string& typed, T value, const std::optional<T>& fixed, const GraphPreset* preset) {
  if (preset == nullptr || !fixed) return value;
  if (!typed.empty() && value != *fixed) {
    fail(ErrorCode::invalid_argument, "{} {}: --preset {} reads {} only; leave one of them out", flag, typed, preset->name,
         name_of(*fixed));
  }
  return *fixed;
}

double parse_sigma(const std::string& text) {
  if (text.empty()) return 0;
  const auto value = read_number<double>(text);
  if (!value || !(*value > 0 && *value <= 1e300)) {
    fail(ErrorCode::invalid_argument, "--sigma {}: wanted a number above 0", text);
  }
  return *value;
}

void choose_edges(const GraphArgs& args, GraphRequest& request) {
  const auto self = parse_self_mode(args.self.empty() ? "exclude" : args.self);
  if (!self || *self == SelfMode::none) fail(ErrorCode::invalid_argument, "--self {}: wanted one of exclude, first, natural", args.self);
  const auto symmetrize = parse_symmetrize(args.symmetrize.empty() ? "none" : args.symmetrize);
  if (!symmetrize) fail(ErrorCode::invalid_argument, "--symmetrize {}: wanted one of none, union, mutual", args.symmetrize);
  const auto weights = parse_edge_weights(args.weights.empty() ? "distance" : args.weights);
  if (!weights) {
    fail(ErrorCode::invalid_argument, "--weights {}: wanted one of distance, connectivity, heat, jaccard", args.weights);
  }
  const GraphPreset* preset = request.preset;
  request.knn.self = settle("--self", args.self, *self, preset ? preset->self : std::nullopt, preset);
  request.graph.symmetrize = settle("--symmetrize", args.symmetrize, *symmetrize, preset ? preset->symmetrize : std::nullopt, preset);
  request.graph.weights = settle("--weights", args.weights, *weights, preset ? preset->weights : std::nullopt, preset);
  request.graph.sigma = parse_sigma(args.sigma);
  request.graph.metric = request.knn.metric.metric;
  if (!args.sigma.empty() && request.graph.weights != EdgeWeights::heat) {
    fail(ErrorCode::invalid_argument, "--sigma {}: only with --weights heat", args.sigma);
  }
  if (request.graph.weights == EdgeWeights::heat && request.knn.metric.metric == Metric::inner_product) {
    fail(ErrorCode::invalid_argument, "--weights heat needs a distance, and inner_product is none: use l2 or cosine, or connectivity");
  }
  if (preset != nullptr && preset->weights && request.knn.metric.metric == Metric::inner_product) {
    fail(ErrorCode::invalid_argument, "--preset {} reads distances, and inner_product has none: use cosine or l2", preset->name);
  }
}

void choose_form(const GraphArgs& args, GraphRequest& request) {
  const auto format = graph_format_of(args.out);
  request.format = format.value_or(GraphFormat::csr_npz);
  request.form = args.out.ends_with("_knn.npz") ? GraphForm::lists : GraphForm::graph;
  if (!args.out.empty() && !format) {
    fail(ErrorCode::invalid_argument, "-o {}: the suffix tells no form of graph; wanted .npz, _knn.npz, .edges or .metis", args.out);
  }
  if (request.preset != nullptr && request.preset->form && request.format == GraphFormat::csr_npz) {
    request.form = *request.preset->form;
    request.format = request.preset->format.value_or(request.format);
  } else if (request.preset != nullptr && request.preset->name != "pyg" && !args.out.empty()) {
    fail(ErrorCode::invalid_argument, "-o {}: --preset {} is read from .npz", args.out, request.preset->name);
  }
  if (request.format == GraphFormat::metis && request.graph.symmetrize == Symmetrize::none) {
    fail(ErrorCode::invalid_argument, "-o {}: METIS graphs are undirected: add --symmetrize union or mutual", args.out);
  }
  if (request.format == GraphFormat::metis && request.graph.weights == EdgeWeights::distance) {
    fail(ErrorCode::invalid_argument, "-o {}: METIS weights grow with closeness: add --weights connectivity, heat or jaccard", args.out);
  }
  const bool edges_asked = request.graph.symmetrize != Symmetrize::none || request.graph.weights != EdgeWeights::distance;
  if (request.form == GraphForm::lists && edges_asked) {
    fail(ErrorCode::invalid_argument, "-o {}: lists hold neighbours and distances; --symmetrize and --weights need a graph (.npz without _knn)",
         args.out);
  }
}

GraphRequest understand(const GraphArgs& args) {
  GraphRequest request;
  request.preset = find_preset(args.preset);
  request.k = parse_integer("-k", args.k, 1, std::numeric_limits<Index>::max() - 1);
  request.list_k = request.k + (request.preset != nullptr ? request.preset->extra_k : 0);
  if (request.list_k < 1) fail(ErrorCode::invalid_argument, "-k {}: --preset {} counts the row itself; wanted at least 2", args.k, args.preset);
  request.knn.metric.metric = parse_metric_flag(args.metric);
  request.knn.metric.cell = cell_of(args.cell);
  request.knn.nan = choose<NanPolicy>("--nan", args.nan, {{"error", NanPolicy::error}, {"skip", NanPolicy::skip}});
  request.knn.distances = choose<DistanceType>(
      "--distances", args.distances, {{"float32", DistanceType::float32}, {"float64", DistanceType::float64}});
  choose_edges(args, request);
  choose_form(args, request);
  const RowRange rows = parse_row_range("--base-rows", args.base_rows);
  request.read = {.format = args.in_format, .first_row = rows.first, .last_row = rows.last, .frame = frame_of(args.cell)};
  apply_distribution_options(args.distribution, request.knn.metric, request.read.distributions);
  request.progress = parse_progress_mode(args.print.progress);
  apply_speed_options(args.speed, request.knn);
  if (!args.out.empty()) {
    if (same_file(args.out, args.base)) fail(ErrorCode::invalid_argument, "-o {}: that is the input; choose another name", args.out);
    check_writable(args.out, {.format = "npz", .overwrite = args.force});
  }
  return request;
}

Neighbours search(const GraphArgs& args, const GraphRequest& request, const RowFile& base, Interrupts& interrupts) {
  ProgressPrinter progress(request.progress, args.print.quiet);
  KnnOptions options = request.knn;
  options.progress = progress.function();
  options.stop = interrupts.token();
  interrupts.enter(Interrupts::Phase::computing);
  try {
    Neighbours lists = knn_graph(base.rows(), request.list_k, options);
    interrupts.enter(Interrupts::Phase::idle);
    if (interrupts.token().stop_requested()) fail(ErrorCode::cancelled, "interrupted");
    return lists;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::malformed_input) fail(error.code(), "'{}': {}", base.path(), error.what());
    throw;
  }
}

/// Consumers index their own arrays by a list's ids, so a slice's rows count from 0 for them.
void count_from_zero(Neighbours& lists, Index first_id) {
  if (first_id == 0) return;
  for (std::int64_t& id : lists.ids) id -= id < 0 ? 0 : first_id;
}

void write(const GraphArgs& args, const GraphRequest& request, GraphOutcome& outcome, Index first_id, Interrupts& interrupts) {
  if (args.out.empty()) return;
  interrupts.enter(Interrupts::Phase::writing);
  if (request.form == GraphForm::lists) {
    if (request.preset != nullptr) count_from_zero(outcome.lists, first_id);
    write_neighbours(args.out, outcome.lists, {.format = "npz", .overwrite = args.force});
  } else {
    write_graph(args.out, outcome.graph, request.format, args.force);
  }
  interrupts.enter(Interrupts::Phase::idle);
}

void run_graph(const GraphArgs& args, Interrupts& interrupts) {
  Stopwatch watch;
  GraphRequest request = understand(args);
  watch.lap();
  const RowFile base = open_rows(args.base, request.read);
  complete_cell(request.knn.metric, args.cell, base, nullptr);
  const bool distributions = request.read.distributions.wanted;
  if (base.rows().cols == 0 && !distributions) fail(ErrorCode::malformed_input, "'{}': 0 columns, wanted at least 1", base.path());
  GraphOutcome outcome;
  outcome.seconds.read = watch.lap();
  outcome.lists = search(args, request, base, interrupts);
  outcome.seconds.prepare = outcome.lists.report.seconds_prepare;
  outcome.seconds.pack = outcome.lists.report.seconds_pack;
  outcome.seconds.search = outcome.lists.report.seconds_search;
  watch.lap();
  GraphOptions graph_options = request.graph;
  graph_options.first_id = base.rows().first_id;
  outcome.graph = csr_graph(outcome.lists, graph_options);
  outcome.components = connected_components(outcome.graph);
  outcome.duplicates = count_duplicate_rows(base.rows(), distributions);
  outcome.warnings = graph_warnings(request, base, outcome);
  write(args, request, outcome, base.rows().first_id, interrupts);
  outcome.seconds.write = watch.lap();
  outcome.seconds.total = watch.total();
  if (args.print.json) {
    fmt::print("{}\n", graph_json(args, request, base, outcome));
  } else if (!args.print.quiet) {
    fmt::print("{}", graph_text(args, request, base, outcome));
  }
  if (!args.print.quiet) {
    std::fflush(stdout);
    print_warnings(outcome.warnings);
  }
}

}  // namespace

Command add_graph(CLI::App& root) {
  const auto args = std::make_shared<GraphArgs>();
  Flags flags(root, "graph", kDescription, footer().c_str());
  add_flags(flags, *args);
  return {.app = flags.app(), .run = [args](Interrupts& interrupts) { run_graph(*args, interrupts); }};
}

}  // namespace tessera::cli
