// SPDX-License-Identifier: Apache-2.0
#include "recall/definitions.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace tessera::recall_room {
namespace {

/// One true neighbour; no keys: its place stands for its distance.
struct Ranked {
  double key;
  std::int64_t id;
};

std::vector<Ranked> ranked_truth(const QueryLists& lists) {
  std::vector<Ranked> truth;
  for (std::size_t i = 0; i < lists.truth.size(); ++i) {
    if (lists.truth[i] < 0) continue;
    truth.push_back({lists.truth_keys.empty() ? static_cast<double>(i) : lists.truth_keys[i], lists.truth[i]});
  }
  std::stable_sort(truth.begin(), truth.end(), [](const Ranked& a, const Ranked& b) { return a.key < b.key; });
  return truth;
}

/// Places of the run's ids that count: neither negative nor seen before.
std::vector<std::size_t> distinct_places(const QueryLists& lists, Index& repeats) {
  std::vector<std::size_t> places;
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < lists.run.size(); ++i) {
    if (lists.run[i] < 0) continue;
    if (!seen.insert(lists.run[i]).second) {
      ++repeats;
      continue;
    }
    places.push_back(i);
  }
  return places;
}

/// Where a run id stands to the k'-th true distance: -1 nearer, 0 tied, 1 farther.
class Judge {
 public:
  Judge(const QueryLists& lists, const std::vector<Ranked>& truth, double tau) : lists_(lists), tau_(tau) {
    for (const Ranked& entry : truth) {
      if (entry.key < tau) nearer_.insert(entry.id);
      if (entry.key == tau) tied_.insert(entry.id);
    }
  }
  int side(std::size_t place) const {
    if (lists_.recomputed) return lists_.run_keys[place] < tau_ ? -1 : lists_.run_keys[place] == tau_ ? 0 : 1;
    return nearer_.contains(lists_.run[place]) ? -1 : tied_.contains(lists_.run[place]) ? 0 : 1;
  }
  bool lists_nearer(std::size_t place) const { return nearer_.contains(lists_.run[place]); }
  Index nearer() const { return std::ssize(nearer_); }
  Index tied() const { return std::ssize(tied_); }

 private:
  const QueryLists& lists_;
  double tau_;
  std::set<std::int64_t> nearer_;
  std::set<std::int64_t> tied_;
};

/// As Python's len(set(a) & set(b)): -1 is a value like any other.
Index common(std::set<std::int64_t> a, const std::set<std::int64_t>& b) {
  return std::count_if(a.begin(), a.end(), [&](std::int64_t id) { return b.contains(id); });
}

std::set<std::int64_t> as_set(std::span<const std::int64_t> ids) { return {ids.begin(), ids.end()}; }

}  // namespace

TieCount count_ties(const QueryLists& lists) {
  TieCount out;
  const std::vector<Ranked> truth = ranked_truth(lists);
  out.neighbours = std::min<Index>(lists.k, std::ssize(truth));
  const std::vector<std::size_t> places = distinct_places(lists, out.repeats);
  if (out.neighbours == 0) return out;
  const double tau = truth[static_cast<std::size_t>(out.neighbours) - 1].key;
  const Judge judge(lists, truth, tau);
  Index nearer = 0;
  Index tied = 0;
  for (const std::size_t place : places) {
    const int side = judge.side(place);
    nearer += side < 0 ? 1 : 0;
    tied += side == 0 ? 1 : 0;
    out.nearer_than_truth = out.nearer_than_truth || (side < 0 && !judge.lists_nearer(place));
    for (std::size_t i = 0; i < static_cast<std::size_t>(out.neighbours); ++i) out.strict += truth[i].id == lists.run[place] ? 1 : 0;
  }
  const Index free_places = out.neighbours - judge.nearer();
  out.found = std::min(nearer, judge.nearer()) + std::min(tied, free_places);
  out.missing = std::max<Index>(0, out.neighbours - std::ssize(places));
  // Without distances nothing is known of ties. A padded truth lists every row there is.
  out.tied = !lists.truth_keys.empty() && judge.tied() > free_places;
  const bool full = std::ssize(truth) == std::ssize(lists.truth);
  out.tie_overflow = !lists.recomputed && !lists.truth_keys.empty() && judge.tied() > 1 && full && truth.back().key == tau;
  return out;
}

Index count_ann_benchmarks(const QueryLists& lists, double epsilon) {
  const double limit = lists.truth_keys[static_cast<std::size_t>(lists.k) - 1] + epsilon;
  return std::count_if(lists.run_keys.begin(), lists.run_keys.end(), [&](double key) { return key <= limit; });
}

Index count_big_ann(const QueryLists& lists) {
  const auto k = static_cast<std::size_t>(lists.k);
  std::size_t end = k;
  if (!lists.truth_keys.empty()) {
    while (end < lists.truth.size() && std::abs(lists.truth_keys[k - 1] - lists.truth_keys[end]) < 1e-6) ++end;
  }
  return common(as_set(lists.truth.first(end)), as_set(lists.run));
}

Index count_diskann(const QueryLists& lists) {
  const auto k = static_cast<std::size_t>(lists.k);
  std::size_t end = k;
  if (!lists.truth_keys.empty()) {
    while (end < lists.truth.size() && lists.truth_keys[end] == lists.truth_keys[k - 1]) ++end;
  }
  return common(as_set(lists.truth.first(end)), as_set(lists.run));
}

Index count_faiss(const QueryLists& lists) {
  std::set<std::int64_t> run = as_set(lists.run);
  run.erase(-1);
  return common(as_set(lists.truth.first(static_cast<std::size_t>(lists.k))), run);
}

}  // namespace tessera::recall_room
