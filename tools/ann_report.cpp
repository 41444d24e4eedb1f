// SPDX-License-Identifier: Apache-2.0
#include "ann.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/info.hpp"

namespace tessera::cli {
namespace {

Json point_json(const SweepPoint& point) {
  return {{"settings", point.settings},
          {"recall", point.recall},
          {"recall_strict", point.recall_strict},
          {"queries_per_second", point.queries_per_second},
          {"latency_ms",
           {{"p50", point.latency.p50}, {"p95", point.latency.p95}, {"p99", point.latency.p99}, {"queries", point.latency.queries}}},
          {"pareto", point.pareto}};
}

/// A cell of CSV: quoted where it has a comma.
std::string cell(const std::string& text) { return text.find_first_of(",\"") == std::string::npos ? text : "\"" + text + "\""; }

std::string csv_line(const std::string& index, const SweepPoint& point, const std::string& build) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{}\n", cell(index), cell(point.settings), point.recall, point.recall_strict,
                     point.queries_per_second, point.latency.p50, point.latency.p95, point.latency.p99, build, point.pareto ? 1 : 0);
}

std::string text_line(const std::string& index, const SweepPoint& point) {
  return fmt::format("{:<24} {:<36} {:>8.4f} {:>12} {:>9.3f} {:>9.3f} {:>9.3f}  {}\n", index, point.settings, point.recall,
                     grouped(static_cast<Index>(point.queries_per_second)), point.latency.p50, point.latency.p95, point.latency.p99,
                     point.pareto ? "*" : "");
}

}  // namespace

std::string sweep_json(const SweepReport& report) {
  Json json;
  json["command"] = "ann sweep";
  json["version"] = version();
  json["faiss"] = faiss_version();
  json["isa"] = build_info().isa;
  json["metric"] = std::string(name_of(report.metric));
  json["k"] = report.k;
  json["threads"] = report.threads > 0 ? report.threads : build_info().threads;
  json["base"] = to_json(report.base);
  json["queries"] = to_json(report.queries);
  json["truth"] = {{"from", report.truth}, {"k", report.truth_k}};
  json["exact"] = point_json(report.exact.point);
  json["exact"]["seconds_prepare"] = report.exact.seconds_prepare;
  json["indexes"] = Json::array();
  for (const SweptIndex& index : report.indexes) {
    Json entry = {{"index", index.name}, {"bytes", index.bytes}};
    const AnnBuildReport& build = index.build;
    entry["seconds"] = index.built ? Json({{"train", build.seconds_train}, {"add", build.seconds_add}, {"build", build.seconds_train + build.seconds_add}})
                                   : Json(nullptr);
    entry["train_rows"] = build.train_rows;
    entry["points"] = Json::array();
    for (const SweepPoint& point : index.points) entry["points"].push_back(point_json(point));
    json["indexes"].push_back(std::move(entry));
  }
  json["seconds"] = {{"total", report.seconds}};
  json["peak_rss_bytes"] = peak_rss_bytes();
  json["warnings"] = report.warnings;
  return json_text(json);
}

std::string sweep_csv(const SweepReport& report) {
  std::string text = "index,settings,recall,recall_strict,queries_per_second,p50_ms,p95_ms,p99_ms,build_seconds,bytes,pareto\n";
  text += csv_line("exact", report.exact.point, fmt::format("{},", report.exact.seconds_prepare));
  for (const SweptIndex& index : report.indexes) {
    const std::string build = index.built ? fmt::format("{}", index.build.seconds_train + index.build.seconds_add) : "";
    for (const SweepPoint& point : index.points) text += csv_line(index.name, point, fmt::format("{},{}", build, index.bytes));
  }
  return text;
}

std::string sweep_text(const SweepReport& report) {
  std::string text = fmt::format("base     {}\nqueries  {}\n", to_text(report.base), to_text(report.queries));
  text += fmt::format("sweep    k {}, {}, FAISS {}; exact prepared in {}\n", report.k, name_of(report.metric), faiss_version(),
                      human_seconds(report.exact.seconds_prepare));
  for (const SweptIndex& index : report.indexes) {
    text += fmt::format("index    {}: {}", index.name, human_bytes(static_cast<double>(index.bytes)));
    if (index.built) {
      text += fmt::format(", built in {} (train {}, add {})", human_seconds(index.build.seconds_train + index.build.seconds_add),
                          human_seconds(index.build.seconds_train), human_seconds(index.build.seconds_add));
    }
    text += "\n";
  }
  text += fmt::format("{:<24} {:<36} {:>8} {:>12} {:>9} {:>9} {:>9}  pareto\n", "index", "settings", "recall", "queries/s", "p50 ms", "p95 ms", "p99 ms");
  text += text_line("exact", report.exact.point);
  for (const SweptIndex& index : report.indexes) {
    for (const SweepPoint& point : index.points) text += text_line(index.name, point);
  }
  text += fmt::format("time     {}\n", human_seconds(report.seconds));
  return text;
}

}  // namespace tessera::cli
