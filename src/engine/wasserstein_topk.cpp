// SPDX-License-Identifier: Apache-2.0
#include "engine/wasserstein_topk.hpp"

#include <algorithm>
#include <vector>

#include "engine/quantile_pairs.hpp"
#include "prepare/distributions.hpp"
#include "select/exact_list.hpp"
#include "support/cpu.hpp"

namespace tessera::engine {
namespace {

using core::Candidate;
using core::Range;

/// One segment of the base, sorted. Positions number the distributions that have an answer.
struct SortedSegment final : core::PreparedSegment {
  std::unique_ptr<core::Distributions> set;
  std::vector<Index> row_of_position;  // [cols()]
  std::int64_t first_id = 0;
  Index denied = 0;

  Index cols() const noexcept override { return std::ssize(row_of_position); }
  std::uint64_t bytes() const noexcept override { return set->bytes() + row_of_position.size() * sizeof(Index); }
  void describe(Report& report) const override {
    report.skipped_base += std::ssize(set->skipped);
    report.denied_base += denied;
  }
  const core::Distribution& at(Index position) const noexcept {
    return set->rows[static_cast<std::size_t>(row_of_position[static_cast<std::size_t>(position)])];
  }
  std::int64_t id_at(Index position) const noexcept { return first_id + row_of_position[static_cast<std::size_t>(position)]; }
};

class WassersteinWorker final : public core::TopkWorker {
 public:
  WassersteinWorker(const kernels::CpuKernels& kernels, const MetricSpec& metric, const SortedSegment& segment, const core::BaseProblem& base,
                    const core::QueryProblem& queries, Index tile_rows)
      : segment_(segment), base_(base.base), denied_(base.denied), queries_(queries), pairs_(kernels, metric), lists_(static_cast<std::size_t>(tile_rows)) {}

  void begin(Range rows, const Candidate* carry, bool /*lead*/) override {
    rows_ = rows;
    for (Index r = 0; r < rows.size(); ++r) {
      auto& list = lists_[static_cast<std::size_t>(r)];
      list.reset(queries_.k);
      if (carry == nullptr) continue;
      for (Index i = 0; i < queries_.k; ++i) {
        const Candidate& c = carry[r * queries_.k + i];
        if (!drops(rows.first + r, c.id)) list.add(c);
      }
    }
  }

  void screen(const core::Tile& tile) override {
    for (Index first = tile.cols.first; first < tile.cols.last; first += kBlockCols) refine({first, std::min(tile.cols.last, first + kBlockCols)});
  }

  void finish(Candidate* out) override {
    for (Index r = 0; r < rows_.size(); ++r, out += queries_.k) lists_[static_cast<std::size_t>(r)].finish(out);
  }

  void place_self(Candidate* lists) override {
    if (queries_.self != SelfMode::first) return;
    for (Index r = 0; r < rows_.size(); ++r, lists += queries_.k) {
      const Index row = rows_.first + r;
      if (own_id(row) < 0 || queries_.distributions->rows[static_cast<std::size_t>(row)].size == 0) continue;
      std::copy_backward(lists, lists + queries_.k - 1, lists + queries_.k);
      lists[0] = {0.0, own_id(row)};
    }
  }

  core::WorkCounts counts() const noexcept override { return {refined_, refined_}; }

 private:
  static constexpr Index kBlockCols = 16;  // distributions of the base that go along the quantile axis together

  void refine(Range cols) {
    wanted_.clear();
    places_.clear();
    std::uint64_t bytes = 0;
    for (Index r = 0; r < rows_.size(); ++r) {
      const core::Distribution& query = queries_.distributions->rows[static_cast<std::size_t>(rows_.first + r)];
      if (query.size == 0) continue;
      bytes += static_cast<std::uint64_t>(query.size) * sizeof(double);
      for (Index c = cols.first; c < cols.last; ++c) {
        if (drops(rows_.first + r, segment_.id_at(c))) continue;
        wanted_.push_back({.a = &query, .b = &segment_.at(c)});
        places_.push_back({r, segment_.id_at(c)});
      }
    }
    for (Index c = cols.first; c < cols.last; ++c) bytes += static_cast<std::uint64_t>(segment_.at(c).size) * sizeof(double);
    pairs_.distances(wanted_, bytes, cache_);
    for (std::size_t i = 0; i < wanted_.size(); ++i) lists_[static_cast<std::size_t>(places_[i].row)].add({wanted_[i].distance, places_[i].id});
    refined_ += std::ssize(wanted_);
  }

  /// Id of the base row that a query is; -1 when it is none.
  std::int64_t own_id(Index query) const noexcept {
    const std::int64_t id = queries_.queries.first_id + query;
    const bool is_base_row = queries_.self != SelfMode::none && id >= base_.first_id && id < base_.first_id + base_.rows &&
                             !std::ranges::binary_search(denied_, id - base_.first_id);
    return is_base_row ? id : -1;
  }
  /// First puts the row itself in again at the end.
  bool drops(Index query, std::int64_t id) const noexcept {
    return queries_.self != SelfMode::natural && id >= 0 && id == own_id(query);
  }

  const SortedSegment& segment_;
  const RowSet& base_;
  const std::vector<Index>& denied_;
  const core::QueryProblem& queries_;
  QuantilePairs pairs_;
  std::uint64_t cache_ = static_cast<std::uint64_t>(support::l2_cache_bytes()) / 2;
  Range rows_;
  std::vector<select::ExactList> lists_;  // [tile_rows]
  struct Place {
    Index row;
    std::int64_t id;
  };
  std::vector<QuantilePair> wanted_;
  std::vector<Place> places_;  // of the wanted pairs
  std::int64_t refined_ = 0;
};

class WassersteinBase final : public core::PreparedBaseBackend {
 public:
  WassersteinBase(const kernels::CpuKernels& kernels, const core::BaseProblem& problem) : kernels_(kernels), problem_(problem) {}

  std::unique_ptr<core::PreparedSegment> segment(Range rows, core::Executor& executor) override {
    auto out = std::make_unique<SortedSegment>();
    out->set = prepare::sort_distributions(kernels_, problem_.base, rows, problem_.nan, "base", executor);
    out->first_id = problem_.base.first_id + rows.first;
    for (Index i = 0; i < rows.size(); ++i) {
      const bool denied = std::ranges::binary_search(problem_.denied, rows.first + i);
      out->denied += denied ? 1 : 0;
      if (out->set->rows[static_cast<std::size_t>(i)].size > 0 && !denied) out->row_of_position.push_back(i);
    }
    return out;
  }

  std::unique_ptr<core::TopkWorker> worker(const core::PreparedSegment& segment, const core::QueryProblem& queries,
                                           const core::QueryPlan& plan) const override {
    return std::make_unique<WassersteinWorker>(kernels_, problem_.metric, static_cast<const SortedSegment&>(segment), problem_, queries, plan.tile_rows);
  }

 private:
  const kernels::CpuKernels& kernels_;
  core::BaseProblem problem_;
};

}  // namespace

std::unique_ptr<core::PreparedBaseBackend> make_wasserstein_base(const kernels::CpuKernels& kernels, const core::BaseProblem& problem) {
  return std::make_unique<WassersteinBase>(kernels, problem);
}

}  // namespace tessera::engine
