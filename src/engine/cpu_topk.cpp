// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu_topk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/control.hpp"
#include "engine/cpu_refiner.hpp"
#include "engine/query_rows.hpp"
#include "metrics/bound.hpp"
#include "select/nth_smallest.hpp"
#include "select/row_state.hpp"

namespace tessera::engine {
namespace {

using core::Candidate;
using core::Range;
using core::Tile;
using kernels::Hit;
using kernels::HitList;
using select::Pending;
using select::RowState;
using support::AlignedBuffer;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct QueryRow : QueryIdentity {
  RowState state;
  prepare::NarrowedRow narrow;
  metrics::PairBound bound;        // against the current tile
};

/// Query rows that one kernel call takes together.
struct QueryPanel {
  Index first;  // row within the tile
  Index rows;   // 1, 2, 4, ... panel_rows
  kernels::ScreenKernels kernels;
  kernels::ScreenKernels coarse;  // periodic: without the list of images that folding may miss
};

class CpuTopkWorker final : public core::TopkWorker, private core::TileWalk {
 public:
  explicit CpuTopkWorker(const CpuTopkInputs& in)
      : in_(in), reader_(in.kernels, in.queries.queries, in.traits.unit_rows), refiner_(in), identities_(in.queries, in.base, in.denied, {.first_id = in.panels.rows.first_id, .count = in.panels.count, .special = &in.panels.special}), depth_(in.narrowing != nullptr ? in.narrowing->depth : in.base.cols), padded_(reader_.padded()),
        hits_per_row_(in.narrowing != nullptr ? kHitPanels * in.kernels.panel_cols : Index{1}),
        capacity_(select::RowCapacity::for_k(in.queries.k, hits_per_row_, in.pruned, in.narrowing != nullptr && in.narrowing->coarse())), rows_(static_cast<std::size_t>(in.tile_rows)),
        query_rows_(buffer<double>(in.tile_rows * padded_)), packed_(buffer<float>(in.tile_rows * depth_)), row_factors_(buffer<float>(in.tile_rows)), row_reaches_(buffer<float>(in.tile_rows)), narrow_(buffer<float>(in.kernels.panel_rows * padded_)),
        pending_(buffer<Pending>(in.tile_rows * capacity_.pending)), best_(buffer<Candidate>(in.tile_rows * capacity_.k)),
        minima_(buffer<float>(kMostSeedGroups * in.kernels.panel_rows * in.kernels.panel_cols)), hits_(buffer<Hit>(in.kernels.panel_rows * hits_per_row_)), lists_(static_cast<std::size_t>(in.kernels.panel_rows)),
        thresholds_(buffer<float>(in.tile_rows)), uppers_(buffer<float>(std::max(capacity_.k + capacity_.pending, kMostSeedGroups * in.kernels.panel_cols))),
        refined_(buffer<Candidate>(capacity_.k + capacity_.pending)),
        scratch_{{uppers_.data(), uppers_.size()}, {refined_.data(), refined_.size()}} {
    if (in.narrowing == nullptr) columns_ = buffer<double>(kDoubleCols * padded_);
    for (Index r = 0; r < in.kernels.panel_rows; ++r) lists_[static_cast<std::size_t>(r)] = {hits_.data() + r * hits_per_row_, 0};
  }

  void begin(Range rows, const Candidate* carry, bool lead) override {
    first_row_ = rows.first;
    count_ = rows.size();
    seeded_ = carry != nullptr;
    const Stopwatch packing;
    for (Index r = 0; r < count_; ++r) begin_row(r, carry != nullptr ? carry + r * capacity_.k : nullptr, lead);
    if (in_.narrowing != nullptr) pack_queries();
    seconds_packing_ += packing.seconds();
    if (in_.pruned) start_walk();
  }

  core::TileWalk* near_to_far() override { return this; }

  void screen(const Tile& tile) override {
    if (in_.narrowing == nullptr) return screen_in_double(tile.cols);
    for (Index p = 0; p < panel_count_; ++p) screen_panel(query_panels_[static_cast<std::size_t>(p)], tile.cols);
    seeded_ = true;
  }

  void finish(Candidate* out) override {
    const Index k = capacity_.k;
    if (!in_.pruned && !capacity_.coarse && count_ * k > kSharedRows * in_.panels.count) refine_together();
    for (Index r = 0; r < count_; ++r, out += k) {
      QueryRow& row = rows_[static_cast<std::size_t>(r)];
      refiner_.set_query(query_row(r));
      row.state.finish(refiner_, scratch_, out);
    }
  }

  void place_self(Candidate* lists) override {
    for (Index r = 0; r < count_; ++r, lists += capacity_.k) {
      const QueryRow& row = rows_[static_cast<std::size_t>(r)];
      if (!identities_.goes_first(row)) continue;
      refiner_.set_query(query_row(r));
      identities_.put_self_first(row, refiner_.key_to_itself(), lists);
    }
  }

  core::WorkCounts counts() const noexcept override { return {survivors_, refiner_.refined(), pruned_, seconds_packing_}; }

 private:
  // A kernel call ends when a list might not take another panel; three panels keep the first, dense calls short.
  static constexpr Index kHitPanels = 3;
  static constexpr Index kDoubleCols = 64;  // base rows that the double screen converts at a time
  // Seeding: minima wanted for each neighbour, panels behind each minimum, and where a long list makes it not worth while. Measured.
  static constexpr Index kMinimaPerNeighbour = 3;
  static constexpr Index kSeedPanels = 24;
  static constexpr Index kMostSeedGroups = 16;
  static constexpr Index kSharedRows = 2;              // computing together pays from so many queries a base row on
  static constexpr Index kRefinedBytes = Index{1} << 18;  // of base rows at a time

  /// Long lists: each base row is wanted by several of the block's queries. A part of the base that fits in L2 serves all of them before the next one does.
  void refine_together() {
    const Index part = std::max<Index>(1, kRefinedBytes / std::max<Index>(1, in_.base.cols * in_.base.col_stride));
    for (Index r = 0; r < count_; ++r) rows_[static_cast<std::size_t>(r)].state.settle(refiner_, scratch_);
    for (Index end = part; end < in_.panels.count + part; end += part) {
      for (Index r = 0; r < count_; ++r) {
        refiner_.set_query(query_row(r));
        rows_[static_cast<std::size_t>(r)].state.refine_before(static_cast<std::uint32_t>(std::min(end, in_.panels.count)), refiner_, scratch_);
      }
    }
  }

  double* query_row(Index r) noexcept { return query_rows_.data() + r * padded_; }

  // --- pruned segments ---------------------------------------------------------------------------------------------

  /// The bound of the block's pairs is one for the segment; its box was made while the rows were narrowed.
  void start_walk() {
    bool any = false;
    for (Index r = 0; r < count_; ++r) {
      QueryRow& row = rows_[static_cast<std::size_t>(r)];
      if (row.kind != RowKind::searched) continue;
      row.bound = metrics::PairBound(in_.narrowing->bound, row.narrow.terms, in_.panels.all_terms);
      any = true;
    }
    for (Index r = 0; r < count_; ++r) thresholds_[r] = threshold(rows_[static_cast<std::size_t>(r)]);
    if (!any) return;  // and the walk of the rows before is through
    pruned_ += in_.panels.count * count_;
    walk_.start(box_);
  }

  bool next(Range& cols) override {
    if (!walk_.next(reach(), cols)) return false;
    pruned_ -= cols.size() * count_;
    return true;
  }

  /// Narrowed rows that are farther apart have a score past the threshold of every row in the block.
  float reach() const noexcept { return *std::max_element(thresholds_.begin(), thresholds_.begin() + count_); }

  void begin_row(Index r, const Candidate* carry, bool lead) {
    QueryRow& row = rows_[static_cast<std::size_t>(r)];
    static_cast<QueryIdentity&>(row) = identities_.identity(first_row_ + r);
    row.state.reset(capacity_, pending_.data() + r * capacity_.pending, best_.data() + r * capacity_.k);
    if (row.kind == RowKind::skipped) return;
    reader_.read(in_.queries.row_at(first_row_ + r), query_row(r));
    const auto seeds = identities_.seeds(row, carry, lead);
    if (!seeds.empty()) row.state.seed(seeds.data(), std::ssize(seeds), refiner_, scratch_);
  }

  // --- fp32 screens ------------------------------------------------------------------------------------------------

  void pack_queries() {
    panel_count_ = 0;
    prepare::clear_box(box_);
    query_panels_.resize(static_cast<std::size_t>(in_.tile_rows));
    Index width = in_.kernels.panel_rows;
    for (Index first = 0; first < count_; first += width) {
      while (width > count_ - first) width /= 2;
      query_panels_[static_cast<std::size_t>(panel_count_++)] = kernels_for(first, width);
      for (Index r = 0; r < width; ++r) narrow_query(first + r, narrow_.data() + r * padded_);
      in_.kernels.interleave(narrow_.data(), padded_, width, depth_, width, packed_.data() + first * depth_);
    }
  }

  QueryPanel kernels_for(Index first, Index rows) const {
    if (in_.fold == nullptr) return {first, rows, prepare::screen_kernels(*in_.narrowing, in_.kernels, rows), {}};
    const auto full = in_.kernels.periodic_screen(in_.fold->box ? kernels::Folding::box : kernels::Folding::list, rows);
    return {first, rows, full, in_.fold->box ? full : in_.kernels.periodic_screen(kernels::Folding::brick, rows)};
  }

  /// The kernels that the panel's thresholds allow: below half the brick's smallest edge folding alone finds every image that matters.
  const kernels::ScreenKernels& kernels_at(const QueryPanel& panel) const noexcept {
    if (in_.fold == nullptr) return panel.kernels;
    const float* thresholds = thresholds_.data() + panel.first;
    const bool safe = std::all_of(thresholds, thresholds + panel.rows, [&](float t) { return t < in_.fold->safe; });
    return safe ? panel.coarse : panel.kernels;
  }

  void narrow_query(Index r, float* out) {
    QueryRow& row = rows_[static_cast<std::size_t>(r)];
    std::fill_n(out, padded_, 0.0f);
    row_factors_[r] = row_reaches_[r] = 0.0f;
    if (row.kind != RowKind::searched) return;
    const prepare::ScreenedQuery query = prepare::narrow_for_screen(*in_.narrowing, in_.kernels, query_row(r), padded_, out, whole_);
    row.narrow = query.row;
    row_factors_[r] = query.factor;
    row_reaches_[r] = query.reach;
    if (in_.pruned) prepare::include_row(std::span(box_), out);
  }

  float threshold(const QueryRow& row) const noexcept {
    if (row.kind != RowKind::searched) return -kInfinity;
    return row.narrow.bypass ? kInfinity : row.bound.threshold(row.state.tau());
  }

  void screen_panel(const QueryPanel& panel, Range cols) {
    const Index width = in_.kernels.panel_cols;
    for (Index r = panel.first; r < panel.first + panel.rows && !in_.pruned; ++r) {
      QueryRow& row = rows_[static_cast<std::size_t>(r)];
      const auto& terms = in_.panels.tile_terms[static_cast<std::size_t>(cols.first / in_.panels.tile_cols)];
      row.bound = metrics::PairBound(bounds_, row.narrow.terms, terms);
      thresholds_[r] = threshold(row);
    }
    kernels::ScreenCall call{.query = packed_.data() + panel.first * depth_,
                             .base = in_.panels.panels.data(),
                             .bias = in_.panels.bias.data(),
                             .thresholds = thresholds_.data() + panel.first,
                             .lists = lists_.data(),
                             .depth = depth_,
                             .first_panel = cols.first / width,
                             .last_panel = (cols.last + width - 1) / width,
                             .capacity = static_cast<std::int32_t>(hits_per_row_),
                             .factor = in_.narrowing->factor,
                             .fold = in_.fold != nullptr ? &in_.fold->terms : nullptr,
                             .row_factor = row_factors_.data() + panel.first,
                             .row_reach = row_reaches_.data() + panel.first,
                             .col_scale = in_.panels.col_scale.data(),
                             .col_residual = in_.panels.col_residual.data(),
                             .col_start = in_.panels.col_start.data()};
    if (!seeded_) seed_thresholds(panel, call);
    while (call.first_panel < call.last_panel) {
      call.first_panel = kernels_at(panel).screen(call);
      for (Index r = 0; r < panel.rows; ++r) {
        if (lists_[static_cast<std::size_t>(r)].count > 0) take_hits(panel.first + r, lists_[static_cast<std::size_t>(r)]);
      }
    }
  }

  /// Before a block's first tile: the k-th smallest of column minima over some panels is a first threshold, and keeps the first
  /// panels from surviving whole. Those panels are then screened like all others.
  void seed_thresholds(const QueryPanel& panel, kernels::ScreenCall call) {
    const Index width = in_.kernels.panel_cols;
    const Index k = capacity_.k + 1;  // one minimum may be the query's own row
    const Index groups = ((in_.pruned ? 1 : kMinimaPerNeighbour) * k + width - 1) / width;
    const Index full_panels = std::min(call.last_panel, in_.panels.count / width) - call.first_panel;
    const Index per_group = std::min(kSeedPanels, full_panels / groups);
    // The nearest tile of a pruned walk is a good sample even when each of its columns is one row.
    if (groups > kMostSeedGroups || per_group < (in_.pruned ? 1 : 2)) return;
    std::fill_n(minima_.data(), groups * panel.rows * width, kInfinity);
    for (Index g = 0; g < groups; ++g) {
      call.last_panel = call.first_panel + per_group;
      // Upper bounds: a folded difference is some image's, list or not.
      (in_.fold != nullptr ? panel.coarse : panel.kernels).seed(call, minima_.data() + g * panel.rows * width);
      call.first_panel = call.last_panel;
    }
    for (Index r = 0; r < panel.rows; ++r) offer_minima(panel, r, groups, k);
  }

  void offer_minima(const QueryPanel& panel, Index r, Index groups, Index k) {
    QueryRow& row = rows_[static_cast<std::size_t>(panel.first + r)];
    if (row.kind != RowKind::searched || row.narrow.bypass) return;
    const Index width = in_.kernels.panel_cols;
    float* all = uppers_.data();
    for (Index g = 0; g < groups; ++g) std::copy_n(minima_.data() + (g * panel.rows + r) * width, width, all + g * width);
    row.state.offer_threshold(row.bound.upper(select::nth_smallest({all, static_cast<std::size_t>(groups * width)}, k - 1)), refiner_);
    if (in_.pruned && std::isfinite(row.state.tau())) row.bound.linearise(row.state.tau());
    thresholds_[panel.first + r] = threshold(row);
  }

  /// Moves a call's hits into the row's state; lowers the threshold when enough have come together.
  void take_hits(Index r, HitList& list) {
    QueryRow& row = rows_[static_cast<std::size_t>(r)];
    const std::int32_t count = std::exchange(list.count, 0);
    if (row.kind != RowKind::searched) return;
    survivors_ += count;
    for (const Hit& hit : std::span(list.hits, static_cast<std::size_t>(count))) {
      if (hit.position >= in_.panels.count) continue;  // a panel's filling
      if (row.drop_own && in_.panels.id_at(hit.position) == row.own_id) continue;
      const bool known = !row.narrow.bypass;
      row.state.add({known ? row.bound.lower(hit.score) : -kInfinity, known ? row.bound.upper(hit.score) : kInfinity, hit.position});
    }
    if (!row.state.wants_compaction()) return;
    refiner_.set_query(query_row(r));
    row.state.compact(refiner_, scratch_);
    thresholds_[r] = threshold(row);
  }

  // --- the double screen: every pair, canonically ------------------------------------------------------------------

  void screen_in_double(Range cols) {
    const prepare::RowReader base(in_.kernels, in_.panels.rows, in_.traits.unit_rows);
    for (Range part{cols.first, cols.first}; part.first < cols.last; part.first = part.last) {
      part.last = std::min(cols.last, part.first + kDoubleCols);
      for (Index c = part.first; c < part.last; ++c) base.read(in_.panels.row_at(c), columns_.data() + (c - part.first) * padded_);
      for (Index r = 0; r < count_; ++r) {
        if (rows_[static_cast<std::size_t>(r)].kind == RowKind::searched) screen_row_in_double(r, part);
      }
    }
  }

  void screen_row_in_double(Index r, Range cols) {
    QueryRow& row = rows_[static_cast<std::size_t>(r)];
    const CanonicalPair pair(in_.kernels, in_.traits, in_.lattice);
    refiner_.set_query(query_row(r));
    for (Index c = cols.first; c < cols.last; ++c) {
      const double z = in_.traits.z_of_key(pair.key(query_row(r), columns_.data() + (c - cols.first) * padded_, padded_));
      const float lower = metrics::float_down(z);
      if (lower > row.state.tau()) continue;
      if (row.drop_own && in_.panels.id_at(c) == row.own_id) continue;
      ++survivors_;
      row.state.add({lower, metrics::float_up(z), static_cast<std::uint32_t>(c)});
      if (row.state.wants_compaction()) row.state.compact(refiner_, scratch_);
    }
  }

  static metrics::BoundContext bounds_of(const CpuTopkInputs& in, bool whole) noexcept {
    metrics::BoundContext bounds = in.narrowing != nullptr ? in.narrowing->bound : metrics::BoundContext{};
    bounds.whole = in.narrowing != nullptr && in.narrowing->whole && whole;
    return bounds;
  }

  CpuTopkInputs in_;
  prepare::RowReader reader_;
  bool whole_ = prepare::is_short_integer(in_.queries.queries.dtype);
  metrics::BoundContext bounds_ = bounds_of(in_, whole_);
  CpuRefiner refiner_;
  QueryRows identities_;
  Index depth_;                           // words of a packed row
  Index padded_;
  Index hits_per_row_;
  select::RowCapacity capacity_;
  Index first_row_ = 0;
  Index count_ = 0;
  bool seeded_ = false;
  std::vector<QueryRow> rows_;            // [tile_rows]
  AlignedBuffer<double> query_rows_;      // [tile_rows, padded]
  AlignedBuffer<float> packed_;           // panels of queries, [tile_rows * depth]
  AlignedBuffer<float> row_factors_;      // [tile_rows]; 8-bit and bf16 screens
  AlignedBuffer<float> row_reaches_;      // [tile_rows]; likewise
  AlignedBuffer<float> narrow_;           // [panel_rows, padded]
  AlignedBuffer<Pending> pending_;        // [tile_rows, capacity.pending]
  AlignedBuffer<Candidate> best_;         // [tile_rows, k]
  AlignedBuffer<float> minima_;           // [seed groups, panel_rows, panel_cols]
  AlignedBuffer<Hit> hits_;               // [panel_rows, hits_per_row]
  std::vector<HitList> lists_;            // [panel_rows]
  AlignedBuffer<float> thresholds_;       // [tile_rows]
  AlignedBuffer<float> uppers_;
  AlignedBuffer<Candidate> refined_;
  AlignedBuffer<double> columns_;         // [kDoubleCols, padded]; double screen
  select::Scratch scratch_;
  std::vector<QueryPanel> query_panels_;
  Index panel_count_ = 0;
  prepare::NearToFar walk_{in_.panels.tree, {in_.kernels, in_.traits.direct_element}, in_.fold != nullptr ? std::span<const double>(in_.fold->shifts) : std::span<const double>{}};
  std::vector<float> box_ = std::vector<float>(static_cast<std::size_t>(2 * depth_));  // around the rows begun, narrowed; pruned segments only
  std::int64_t survivors_ = 0;
  std::int64_t pruned_ = 0;
  double seconds_packing_ = 0;
};

}  // namespace

std::unique_ptr<core::TopkWorker> make_cpu_topk_worker(const CpuTopkInputs& inputs) { return std::make_unique<CpuTopkWorker>(inputs); }

}  // namespace tessera::engine
