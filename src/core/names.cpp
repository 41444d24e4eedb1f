// SPDX-License-Identifier: Apache-2.0
// The words users write for enumerators.
#include <array>
#include <utility>

#include "tessera/metric.hpp"
#include "tessera/options.hpp"

namespace tessera {
namespace {

struct MetricRow {
  Metric metric;
  std::string_view name;
  std::string_view aliases;
};

constexpr MetricRow kMetrics[] = {
#define TESSERA_METRIC(id, aliases) {Metric::id, #id, aliases},
#include "tessera/metrics.def"
#undef TESSERA_METRIC
};

bool has_word(std::string_view words, std::string_view word) noexcept {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}


constexpr std::array<std::pair<Screen, std::string_view>, 7> kScreens = {{{Screen::automatic, "auto"},
                                                                          {Screen::fp32, "fp32"},
                                                                          {Screen::fp32_direct, "fp32-direct"},
                                                                          {Screen::fp32_dot, "fp32-dot"},
                                                                          {Screen::double_precision, "double"},
                                                                          {Screen::int8, "int8"},
                                                                          {Screen::bf16, "bf16"}}};
constexpr std::array<std::pair<Schedule, std::string_view>, 3> kSchedules = {
    {{Schedule::automatic, "auto"}, {Schedule::by_query, "by-query"}, {Schedule::by_base, "by-base"}}};
constexpr std::array<std::pair<Pruning, std::string_view>, 3> kPrunings = {
    {{Pruning::automatic, "auto"}, {Pruning::off, "off"}, {Pruning::on, "on"}}};
constexpr std::array<std::pair<Symmetry, std::string_view>, 3> kSymmetries = {
    {{Symmetry::automatic, "auto"}, {Symmetry::off, "off"}, {Symmetry::on, "on"}}};
constexpr std::array<std::pair<SelfMode, std::string_view>, 4> kSelfModes = {
    {{SelfMode::none, "none"}, {SelfMode::natural, "natural"}, {SelfMode::exclude, "exclude"}, {SelfMode::first, "first"}}};

template <class Table, class E>
std::string_view find_name(const Table& table, E value) noexcept {
  for (const auto& [v, name] : table) {
    if (v == value) return name;
  }
  return "?";
}

template <class Table>
auto find_value(const Table& table, std::string_view name) noexcept -> std::optional<decltype(table[0].first)> {
  for (const auto& [value, n] : table) {
    if (n == name) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Metric metric) noexcept { return kMetrics[static_cast<std::size_t>(metric)].name; }

std::optional<Metric> parse_metric(std::string_view name) noexcept {
  for (const MetricRow& row : kMetrics) {
    if (name == row.name || has_word(row.aliases, name)) return row.metric;
  }
  return std::nullopt;
}

std::string metric_names() {
  std::string names;
  for (const MetricRow& row : kMetrics) {
    if (!names.empty()) names += ' ';
    names += row.name;
  }
  return names;
}

std::string_view name_of(Screen screen) noexcept { return find_name(kScreens, screen); }
std::optional<Screen> parse_screen(std::string_view name) noexcept {
  if (auto v = find_value(kScreens, name)) return *v;
  return std::nullopt;
}
std::string_view name_of(Schedule schedule) noexcept { return find_name(kSchedules, schedule); }
std::optional<Schedule> parse_schedule(std::string_view name) noexcept {
  if (auto v = find_value(kSchedules, name)) return *v;
  return std::nullopt;
}
std::string_view name_of(Pruning pruning) noexcept { return find_name(kPrunings, pruning); }
std::optional<Pruning> parse_pruning(std::string_view name) noexcept { return find_value(kPrunings, name); }
std::string_view name_of(Symmetry symmetry) noexcept { return find_name(kSymmetries, symmetry); }
std::optional<Symmetry> parse_symmetry(std::string_view name) noexcept { return find_value(kSymmetries, name); }
std::string_view name_of(SelfMode mode) noexcept { return find_name(kSelfModes, mode); }
std::optional<SelfMode> parse_self_mode(std::string_view name) noexcept {
  if (auto v = find_value(kSelfModes, name)) return *v;
  return std::nullopt;
}

}  // namespace tessera
