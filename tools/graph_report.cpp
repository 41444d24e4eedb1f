// SPDX-License-Identifier: Apache-2.0
#include "graph.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/info.hpp"

namespace tessera::cli {
namespace {

std::string_view form_name(const GraphRequest& request) noexcept {
  if (request.form == GraphForm::lists) return "lists";
  switch (request.format) {
    case GraphFormat::csr_npz: return "csr";
    case GraphFormat::pyg_npz: return "edge_index";
    case GraphFormat::edges: return "edges";
    case GraphFormat::metis: break;
  }
  return "metis";
}

}  // namespace

std::vector<std::string> graph_warnings(const GraphRequest& request, const RowFile& base, const GraphOutcome& outcome) {
  std::vector<std::string> warnings;
  const Report& report = outcome.lists.report;
  if (report.zero_base > 0) {
    warnings.push_back(fmt::format("{} rows are zero: cosine distance 1 to every other row", report.zero_base));
  }
  if (report.skipped_base > 0) {
    warnings.push_back(fmt::format("{} rows with NaN or inf were skipped: they have no edges", report.skipped_base));
  }
  const Index others = base.rows().rows - report.skipped_base - (request.knn.self == SelfMode::exclude ? 1 : 0);
  if (request.list_k > others && base.rows().rows > 0) {
    warnings.push_back(fmt::format("{} neighbours a row were asked for, there are {}", request.list_k, std::max<Index>(0, others)));
  }
  if (outcome.components.components > 1 && request.preset != nullptr && request.preset->name == "hdbscan") {
    warnings.push_back(fmt::format("the graph has {} components; hdbscan wants one: raise -k, or cluster each component",
                                   outcome.components.components));
  }
  if (outcome.duplicates > 0 && request.preset != nullptr && request.preset->name == "hdbscan") {
    warnings.push_back(fmt::format("{} duplicate rows lie at distance 0, which hdbscan takes for no edge: drop them first",
                                   outcome.duplicates));
  }
  return warnings;
}

std::string graph_json(const GraphArgs& args, const GraphRequest& request, const RowFile& base, const GraphOutcome& outcome) {
  const Report& report = outcome.lists.report;
  Json json;
  json["command"] = "graph";
  json["version"] = version();
  json["metric"] = std::string(name_of(request.knn.metric.metric));
  json["k"] = request.k;
  json["self"] = std::string(name_of(request.knn.self));
  json["preset"] = args.preset.empty() ? Json(nullptr) : Json(args.preset);
  json["symmetrize"] = std::string(name_of(request.graph.symmetrize));
  json["weights"] = std::string(name_of(request.graph.weights));
  json["backend"] = report.backend;
  json["isa"] = report.isa;
  json["threads"] = report.threads;
  json["base"] = to_json(summarize(base));
  json["out"] = args.out.empty() ? Json(nullptr) : Json(args.out);
  json["form"] = std::string(form_name(request));
  json["graph"] = {{"rows", outcome.lists.rows},
                   {"edges", std::ssize(outcome.graph.indices)},
                   {"components", outcome.components.components},
                   {"largest_component", outcome.components.largest},
                   {"isolated_rows", outcome.components.isolated},
                   {"duplicate_rows", outcome.duplicates}};
  add_search(json, report, outcome.seconds, outcome.lists.rows, outcome.warnings);
  return json_text(json);
}

std::string graph_text(const GraphArgs& args, const GraphRequest& request, const RowFile& base, const GraphOutcome& outcome) {
  std::string text;
  text += fmt::format("base       {}\n", to_text(summarize(base)));
  text += fmt::format("graph      k {}, {}, self {}, symmetrize {}, weights {}{}\n", request.k,
                      name_of(request.knn.metric.metric), name_of(request.knn.self), name_of(request.graph.symmetrize),
                      name_of(request.graph.weights), args.preset.empty() ? "" : ", for " + args.preset);
  text += fmt::format("edges      {} of {} rows\n", grouped(std::ssize(outcome.graph.indices)), grouped(outcome.lists.rows));
  text += fmt::format("components {} (largest {} rows, {} isolated)\n", grouped(outcome.components.components),
                      grouped(outcome.components.largest), grouped(outcome.components.isolated));
  text += fmt::format("duplicates {} rows equal to an earlier one\n", grouped(outcome.duplicates));
  text += fmt::format("plan       {}\n", plan_text(outcome.lists.report));
  text += fmt::format("time       {}\n", to_text(outcome.seconds));
  if (!args.out.empty()) text += fmt::format("written    {} ({})\n", args.out, form_name(request));
  return text;
}

}  // namespace tessera::cli
