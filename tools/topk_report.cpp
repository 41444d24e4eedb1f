// SPDX-License-Identifier: Apache-2.0
#include "topk.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/info.hpp"

namespace tessera::cli {
namespace {

/// Base rows that any query may be answered with, at least.
Index fewest_candidates(const Inputs& inputs, const Request& request, const Report& report) {
  const RowSet& base = inputs.base.rows();
  const RowSet& queries = inputs.query_file().rows();
  const bool overlap = queries.first_id < base.first_id + base.rows && base.first_id < queries.first_id + queries.rows;
  const bool excludes = request.knn.self == SelfMode::exclude && overlap;
  return base.rows - report.skipped_base - report.denied_base - (excludes ? 1 : 0);
}

std::string_view plural(Index count) noexcept { return count == 1 ? "" : "s"; }

}  // namespace

std::vector<std::string> find_warnings(const TopkArgs& args, const Request& request, const Inputs& inputs,
                                       const Report& report) {
  std::vector<std::string> warnings;
  if (report.zero_base + report.zero_queries > 0) {
    warnings.push_back(fmt::format("{} base row{} and {} quer{} are zero: cosine distance 1 to every other row",
                                   report.zero_base, plural(report.zero_base), report.zero_queries,
                                   report.zero_queries == 1 ? "y" : "ies"));
  }
  if (report.skipped_base + report.skipped_queries > 0) {
    warnings.push_back(fmt::format("{} base row{} and {} quer{} with NaN or inf were skipped", report.skipped_base,
                                   plural(report.skipped_base), report.skipped_queries,
                                   report.skipped_queries == 1 ? "y" : "ies"));
  }
  if (report.beyond_half_cell > 0) {
    warnings.push_back(fmt::format("{} quer{} a neighbour at {:.6g} or farther, half the shortest lattice vector: only the nearest image of each row is listed, and others may "
                                   "be as near",
                                   report.beyond_half_cell, report.beyond_half_cell == 1 ? "y has" : "ies have", report.half_cell));
  }
  const Index candidates = fewest_candidates(inputs, request, report);
  const bool one_each = request.knn.images == Images::nearest;
  if (one_each && request.k > candidates && inputs.query_file().rows().rows > 0) {
    const std::string_view distance = request.knn.metric.metric == Metric::inner_product ? "-inf" : "inf";
    warnings.push_back(fmt::format("k is {}, but there are only {} candidates: rows end in padding (id -1, {})",
                                   request.k, candidates, distance));
  }
  // An .h5 file without a name may be two arrays: train for the base, test for the queries.
  const bool same_rows = inputs.queries && inputs.queries->file_rows() == inputs.base.file_rows();
  if (!args.queries.empty() && same_rows && same_array(args.base, args.queries)) {
    warnings.push_back("queries and base are one file, so rows find themselves: leave out --queries to exclude them");
  }
  return warnings;
}

std::string report_json(const TopkArgs& args, const Request& request, const Inputs& inputs, const Outcome& outcome) {
  const Report& report = outcome.neighbours.report;
  Json json;
  json["command"] = "topk";
  json["version"] = version();
  json["metric"] = std::string(name_of(request.knn.metric.metric));
  json["k"] = request.k;
  json["self"] = request.self_search() ? Json(std::string(name_of(request.knn.self))) : Json(nullptr);
  json["backend"] = report.backend;
  json["isa"] = report.isa;
  json["threads"] = report.threads;
  json["queries"] = to_json(summarize(inputs.query_file()));
  json["base"] = to_json(summarize(inputs.base));
  json["denied_base"] = report.denied_base;
  json["out"] = args.out.empty() ? Json(nullptr) : Json(args.out);
  add_search(json, report, outcome.seconds, outcome.neighbours.rows, outcome.warnings);
  return json_text(json);
}

std::string report_text(const TopkArgs& args, const Request& request, const Inputs& inputs, const Outcome& outcome) {
  const Report& report = outcome.neighbours.report;
  const bool own_rows = request.self_search() && !inputs.queries;
  std::string text;
  text += fmt::format("base     {}\n", to_text(summarize(inputs.base)));
  text += fmt::format("queries  {}\n", own_rows ? "the base's own rows" : to_text(summarize(inputs.query_file())));
  text += fmt::format("search   k {}, {}{}\n", request.k, name_of(request.knn.metric.metric),
                      request.self_search() ? fmt::format(", self {}", name_of(request.knn.self)) : "");
  if (report.denied_base > 0) text += fmt::format("filter   {} of {} base rows left out\n", report.denied_base, inputs.base.rows().rows);
  text += fmt::format("plan     {}\n", plan_text(report));
  text += fmt::format("time     {}\n", to_text(outcome.seconds));
  text += fmt::format("speed    {} pairs/s, {:.1f} survivors a row, {:.1f} % pruned, peak memory {}\n",
                      human_count(pairs_per_second(report, outcome.seconds)), survivors_per_row(report, outcome.neighbours.rows), 100 * report.pruned_fraction,
                      human_bytes(static_cast<double>(peak_rss_bytes())));
  if (!args.out.empty() && args.out != "-") text += fmt::format("written  {}\n", args.out);
  return text;
}

}  // namespace tessera::cli
