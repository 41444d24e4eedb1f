// SPDX-License-Identifier: Apache-2.0
#include "engine/wasserstein_topk.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/quantile_pairs.hpp"
#include "engine/sorted_segment.hpp"
#include "metrics/bound.hpp"
#include "select/best_list.hpp"
#include "support/cpu.hpp"

namespace tessera::engine {
namespace {

using core::Candidate;
using core::Range;

constexpr Index kBlockCols = 16;  // distributions of the base that go along the quantile axis together
constexpr Index kBatch = 16;      // pairs refined before the threshold is looked at again

/// A pair that the coarse screen left, and the sum of its fine sketch.
struct Left {
  double sum;
  Index position;
};

class WassersteinWorker final : public core::TopkWorker {
 public:
  WassersteinWorker(const kernels::CpuKernels& kernels, const MetricSpec& metric, const SortedSegment& segment, const core::BaseProblem& base,
                    const core::QueryProblem& queries, Index tile_rows)
      : kernels_(kernels), p_(metric.p), segment_(segment), base_(base.base), denied_(base.denied), queries_(queries), pairs_(kernels, metric),
        rows_of_tile_(static_cast<std::size_t>(tile_rows)), best_(static_cast<std::size_t>(tile_rows * select::BestList::room(queries.k))) {
    if (segment.narrowing == nullptr) return;
    const auto rows = static_cast<std::size_t>(tile_rows);
    fine_ = support::AlignedBuffer<double>(rows * kFineBlocks);
    packed_ = support::AlignedBuffer<float>(rows * kCoarseBlocks);
    hits_ = support::AlignedBuffer<kernels::Hit>(static_cast<std::size_t>(kernels.panel_rows * hit_room()));
  }

  void begin(Range rows, const Candidate* carry, bool /*lead*/) override {
    rows_ = rows;
    for (Index r = 0; r < rows.size(); ++r) {
      auto& list = row(r).list;
      Candidate* const memory = best_.data() + r * select::BestList::room(queries_.k);
      std::fill_n(memory, queries_.k, Candidate{});
      list.reset(queries_.k, memory);
      row(r).query = &queries_.distributions->rows[static_cast<std::size_t>(rows.first + r)];
      for (Index i = 0; carry != nullptr && i < queries_.k; ++i) {
        const Candidate& c = carry[r * queries_.k + i];
        if (!drops(rows.first + r, c.id) && list.wants(c)) list.add(c);
      }
      list.cut();
    }
    if (segment_.narrowing != nullptr) sketch_queries();
  }

  void screen(const core::Tile& tile) override {
    if (segment_.narrowing == nullptr) {
      for (Index first = tile.cols.first; first < tile.cols.last; first += kBlockCols) refine_all({first, std::min(tile.cols.last, first + kBlockCols)});
      return;
    }
    for (const Panel& panel : panels_) screen_panel(panel, tile.cols);
  }

  void finish(Candidate* out) override {
    for (Index r = 0; r < rows_.size(); ++r, out += queries_.k) std::copy_n(row(r).list.finish(), queries_.k, out);
  }

  void place_self(Candidate* lists) override {
    if (queries_.self != SelfMode::first) return;
    for (Index r = 0; r < rows_.size(); ++r, lists += queries_.k) {
      const std::int64_t own = own_id(rows_.first + r);
      if (own < 0 || row(r).query->size == 0) continue;
      std::copy_backward(lists, lists + queries_.k - 1, lists + queries_.k);
      lists[0] = {0.0, own};
    }
  }

  core::WorkCounts counts() const noexcept override { return {.survivors = survivors_, .refined = refined_}; }

 private:
  struct Row {
    select::BestList list;
    const core::Distribution* query = nullptr;
    bool bypass = false;            // no sketch vouches for it: wide integers, values past float32
    SketchTerms coarse;
    SketchTerms fine;
    metrics::RowTerms narrow;
  };
  /// Query rows that one kernel call takes together.
  struct Panel {
    Index first;
    Index rows;
    kernels::ScreenKernel kernel;
  };

  Row& row(Index r) noexcept { return rows_of_tile_[static_cast<std::size_t>(r)]; }
  Index hit_room() const noexcept { return 8 * kernels_.panel_cols; }

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

  // --- every pair --------------------------------------------------------------------------------------------------

  void refine_all(Range cols) {
    wanted_.clear();
    places_.clear();
    std::uint64_t bytes = 0;
    for (Index r = 0; r < rows_.size(); ++r) {
      if (row(r).query->size == 0) continue;
      bytes += static_cast<std::uint64_t>(row(r).query->size) * sizeof(double);
      for (Index c = cols.first; c < cols.last; ++c) want(r, c);
    }
    for (Index c = cols.first; c < cols.last; ++c) bytes += static_cast<std::uint64_t>(segment_.at(c).size) * sizeof(double);
    survivors_ += std::ssize(wanted_);
    refine(bytes);
  }

  void want(Index r, Index position) {
    if (drops(rows_.first + r, segment_.id_at(position))) return;
    wanted_.push_back({.a = row(r).query, .b = &segment_.at(position)});
    places_.push_back({r, segment_.id_at(position)});
  }

  /// Computes the wanted pairs and adds them to their lists.
  void refine(std::uint64_t bytes) {
    pairs_.distances(wanted_, bytes, cache_);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const Candidate found{wanted_[i].distance, places_[i].id};
      if (auto& list = row(places_[i].row).list; list.wants(found)) list.add(found);
    }
    refined_ += std::ssize(wanted_);
  }

  // --- the screen --------------------------------------------------------------------------------------------------

  void sketch_queries() {
    panels_.clear();
    Index width = kernels_.panel_rows;
    for (Index first = 0; first < rows_.size(); first += width) {
      while (width > rows_.size() - first) width /= 2;
      panels_.push_back({first, width, kernels_.screen(metrics::Element::absolute_difference, false, width).screen});
      for (Index r = 0; r < width; ++r) sketch_query(first + r, narrow_ + r * kCoarseBlocks);
      kernels_.interleave(narrow_, kCoarseBlocks, width, kCoarseBlocks, width, packed_.data() + first * kCoarseBlocks);
    }
  }

  void sketch_query(Index r, float* out) {
    Row& q = row(r);
    q.bypass = q.query->type == core::ValueType::wide;
    std::fill_n(out, kCoarseBlocks, 0.0f);
    if (q.query->size == 0 || q.bypass) return;
    alignas(64) double means[kCoarseBlocks];
    q.coarse = sketch_terms(*q.query, block_means(*q.query, kCoarseBlocks, means));
    q.fine = sketch_terms(*q.query, block_means(*q.query, kFineBlocks, fine_.data() + r * kFineBlocks));
    const prepare::NarrowedRow narrowed = prepare::narrow_query_row(*segment_.narrowing, kernels_, means, kCoarseBlocks, out);
    q.bypass = narrowed.bypass;
    q.narrow = narrowed.terms;
  }

  /// A score above it proves that the pair is no neighbour.
  float threshold(const Row& q, Range cols) const noexcept {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (q.query->size == 0) return -kInfinity;
    if (q.bypass) return kInfinity;
    const auto tile = static_cast<std::size_t>(cols.first / segment_.coarse->tile_cols);
    const double sum = largest_sketch(q.list.threshold(), p_, kCoarseBlocks, q.coarse, segment_.tile_terms[tile]);
    const metrics::PairBound bound(segment_.narrowing->bound, q.narrow, segment_.coarse->tile_terms[tile]);
    return bound.threshold(sum * segment_.narrowing->bound.z_scale);
  }

  void screen_panel(const Panel& panel, Range cols) {
    const Index width = kernels_.panel_cols;
    float thresholds[kMostPanelRows];
    kernels::HitList lists[kMostPanelRows];
    for (Index r = 0; r < panel.rows; ++r) {
      thresholds[r] = threshold(row(panel.first + r), cols);
      lists[r] = {hits_.data() + r * hit_room(), 0};
      left_[r].clear();
    }
    kernels::ScreenCall call{.query = packed_.data() + panel.first * kCoarseBlocks,
                             .base = segment_.coarse->panels.data(),
                             .bias = nullptr,
                             .thresholds = thresholds,
                             .lists = lists,
                             .depth = kCoarseBlocks,
                             .first_panel = cols.first / width,
                             .last_panel = (cols.last + width - 1) / width,
                             .capacity = static_cast<std::int32_t>(hit_room()),
                             .factor = 1};
    while (call.first_panel < call.last_panel) {
      call.first_panel = panel.kernel(call);
      for (Index r = 0; r < panel.rows; ++r) take_hits(panel.first + r, lists[r], left_[r]);
    }
    for (Index r = 0; r < panel.rows; ++r) refine_left(panel.first + r, left_[r]);
  }

  void take_hits(Index r, kernels::HitList& list, std::vector<Left>& left) {
    const Row& q = row(r);
    for (std::int32_t h = 0; h < list.count && q.query->size > 0; ++h) {
      const auto position = static_cast<Index>(list.hits[h].position);
      if (position >= segment_.cols()) continue;  // a panel's filling
      if (drops(rows_.first + r, segment_.id_at(position))) continue;
      const double sum = q.bypass ? 0 : fine_sum(r, position);
      if (sum > largest_sketch(q.list.threshold(), p_, kFineBlocks, q.fine, segment_.fine_terms[static_cast<std::size_t>(position)])) continue;
      left.push_back({sum, position});
    }
    list.count = 0;
  }

  double fine_sum(Index r, Index position) const noexcept {
    const auto sum = kernels_.canonical[static_cast<int>(metrics::Element::absolute_difference)];
    return sum(fine_.data() + r * kFineBlocks, segment_.fine.data() + position * kFineBlocks, kFineBlocks);
  }

  /// Refines what is left from the nearest sketch on, until the sketches prove that nothing nearer is left.
  void refine_left(Index r, std::vector<Left>& left) {
    Row& q = row(r);
    std::sort(left.begin(), left.end(), [](const Left& a, const Left& b) { return a.sum < b.sum; });
    for (std::size_t i = 0; i < left.size();) {
      wanted_.clear();
      places_.clear();
      for (; i < left.size() && std::ssize(wanted_) < kBatch; ++i) {
        const auto at = static_cast<std::size_t>(left[i].position);
        if (!q.bypass && left[i].sum > largest_sketch(q.list.threshold(), p_, kFineBlocks, q.fine, segment_.fine_terms[at])) continue;
        want(r, left[i].position);
      }
      survivors_ += std::ssize(wanted_);
      refine(0);
      q.list.cut();
    }
  }

  static constexpr Index kMostPanelRows = 16;

  const kernels::CpuKernels& kernels_;
  double p_;
  const SortedSegment& segment_;
  const RowSet& base_;
  const std::vector<Index>& denied_;
  const core::QueryProblem& queries_;
  QuantilePairs pairs_;
  std::uint64_t cache_ = static_cast<std::uint64_t>(support::l2_cache_bytes()) / 2;
  Range rows_;
  std::vector<Row> rows_of_tile_;  // [tile_rows]
  support::AlignedBuffer<Candidate> best_;  // [tile_rows, BestList::room(k)]
  struct Place {
    Index row;
    std::int64_t id;
  };
  std::vector<QuantilePair> wanted_;
  std::vector<Place> places_;  // of the wanted pairs
  support::AlignedBuffer<double> fine_;    // [tile_rows, kFineBlocks]
  support::AlignedBuffer<float> packed_;   // panels of queries, [tile_rows * kCoarseBlocks]
  alignas(64) float narrow_[kMostPanelRows * kCoarseBlocks];
  support::AlignedBuffer<kernels::Hit> hits_;
  std::vector<Left> left_[kMostPanelRows];
  std::vector<Panel> panels_;
  std::int64_t survivors_ = 0;
  std::int64_t refined_ = 0;
};

class WassersteinBase final : public core::PreparedBaseBackend {
 public:
  WassersteinBase(const kernels::CpuKernels& kernels, const core::BaseProblem& problem, const core::BasePlan& plan)
      : kernels_(kernels), problem_(problem), tile_cols_(plan.screen == Screen::double_precision ? 0 : plan.tile_cols) {}

  std::unique_ptr<core::PreparedSegment> segment(Range rows, core::Executor& executor) override {
    return sort_segment(kernels_, problem_, rows, tile_cols_, executor);
  }

  std::unique_ptr<core::TopkWorker> worker(const core::PreparedSegment& segment, const core::QueryProblem& queries,
                                           const core::QueryPlan& plan) const override {
    return std::make_unique<WassersteinWorker>(kernels_, problem_.metric, static_cast<const SortedSegment&>(segment), problem_, queries, plan.tile_rows);
  }

 private:
  const kernels::CpuKernels& kernels_;
  core::BaseProblem problem_;
  Index tile_cols_;  // 0: no screen
};

}  // namespace

std::unique_ptr<core::PreparedBaseBackend> make_wasserstein_base(const kernels::CpuKernels& kernels, const core::BaseProblem& problem,
                                                                 const core::BasePlan& plan) {
  return std::make_unique<WassersteinBase>(kernels, problem, plan);
}

}  // namespace tessera::engine
