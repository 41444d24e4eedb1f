// SPDX-License-Identifier: Apache-2.0
#include "engine/symmetric_topk.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "engine/control.hpp"
#include "engine/cpu_refiner.hpp"
#include "engine/query_rows.hpp"
#include "metrics/bound.hpp"
#include "select/best_list.hpp"

namespace tessera::engine {
namespace {

using core::Candidate;
using core::Range;
using kernels::Hit;
using kernels::HitList;
using select::BestList;
using select::Pending;
using support::AlignedBuffer;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// What all workers share. Blocks are tiles of the base. A row's list belongs to whoever holds its block's lock; its threshold may be read by all, and only falls:
/// an old one keeps more pairs, and loses none.
class SharedRows final : public core::SymmetricSearch {
 public:
  explicit SharedRows(const CpuTopkInputs& inputs)
      : in(inputs), depth(in.narrowing->depth), packed(buffer<float>(in.panels.count * depth)), factors(buffer<float>(in.panels.count)), reaches(buffer<float>(in.panels.count)),
        narrow(buffer<prepare::NarrowedRow>(in.panels.count)), lists(static_cast<std::size_t>(in.panels.count)), best(buffer<Candidate>(in.panels.count * BestList::room(in.queries.k))),
        thresholds(std::make_unique<std::atomic<double>[]>(static_cast<std::size_t>(in.panels.count))), locks(std::make_unique<std::mutex[]>(static_cast<std::size_t>(blocks()))) {}

  Index blocks() const noexcept override { return (in.panels.count + in.panels.tile_cols - 1) / in.panels.tile_cols; }
  Range rows(Index block) const noexcept override {
    return {block * in.panels.tile_cols, std::min(in.panels.count, (block + 1) * in.panels.tile_cols)};
  }
  std::unique_ptr<core::SymmetricWorker> worker() override;

  BestList& list(Index row) noexcept { return lists[static_cast<std::size_t>(row)]; }
  double threshold(Index row) const noexcept { return thresholds[static_cast<std::size_t>(row)].load(std::memory_order_relaxed); }
  void publish(Index row) noexcept { thresholds[static_cast<std::size_t>(row)].store(list(row).threshold(), std::memory_order_relaxed); }

  CpuTopkInputs in;
  Index depth;
  AlignedBuffer<float> packed;                       // panels of queries, [rows * depth]
  AlignedBuffer<float> factors;                      // [rows]; 8-bit screen
  AlignedBuffer<float> reaches;                      // [rows]; 8-bit screen
  AlignedBuffer<prepare::NarrowedRow> narrow;        // [rows]
  std::vector<BestList> lists;                       // [rows]
  AlignedBuffer<Candidate> best;                     // [rows, room]
  std::unique_ptr<std::atomic<double>[]> thresholds; // [rows], keys
  std::unique_ptr<std::mutex[]> locks;               // [blocks]
};

/// A pair on its way into the list of one of its rows.
struct Delivery {
  Index row;
  Candidate candidate;
};

/// A pair that the screen kept.
struct Kept {
  Index row;  // within the panel
  Pending pair;
};

/// Kept pairs are computed at once, while both blocks are in the caches, once for both rows: from then on all is exact.
class CpuSymmetricWorker final : public core::SymmetricWorker {
 public:
  explicit CpuSymmetricWorker(SharedRows& shared)
      : shared_(shared), in_(shared.in), reader_(in_.kernels, in_.queries.queries, in_.traits.unit_rows), refiner_(in_),
        identities_(in_.queries, in_.base, in_.denied, {.first_id = in_.panels.rows.first_id, .count = in_.panels.count, .special = &in_.panels.special}),
        own_pairs_(make_cpu_topk_worker(in_)), width_(in_.kernels.panel_cols), hits_per_row_(kHitPanels * width_), row_(buffer<double>(reader_.padded())),
        narrow_(buffer<float>(in_.kernels.panel_rows * reader_.padded())), hits_(buffer<Hit>(in_.kernels.panel_rows * hits_per_row_)),
        lists_(static_cast<std::size_t>(in_.kernels.panel_rows)), panel_(static_cast<std::size_t>(in_.kernels.panel_rows)), thresholds_(buffer<float>(in_.kernels.panel_rows)),
        offsets_(buffer<float>(in_.kernels.panel_rows)), col_limits_(buffer<float>(in_.panels.tile_cols)), best_(static_cast<std::size_t>(in_.tile_rows * in_.queries.k)) {
    for (Index r = 0; r < in_.kernels.panel_rows; ++r) lists_[static_cast<std::size_t>(r)] = {hits_.data() + r * hits_per_row_, 0};
    kept_.reserve(static_cast<std::size_t>(in_.kernels.panel_rows * hits_per_row_));
    to_rows_.reserve(kept_.capacity());
    to_cols_.reserve(kept_.capacity() + kDeliveredFrom);
  }

  void begin(Index block) override {
    const Range rows = shared_.rows(block);
    const Stopwatch packing;
    for (Index first = rows.first; first < rows.last; first += panel_rows_at(first, rows)) pack_panel(first, panel_rows_at(first, rows));
    seconds_packing_ += packing.seconds();
    // Its own pairs go as in any search; the lists they end in are where those of the whole search start.
    const Index k = in_.queries.k;
    for (Range part{rows.first, rows.first}; part.first < rows.last; part.first = part.last) {
      part.last = std::min(rows.last, part.first + in_.tile_rows);
      own_pairs_->begin(part, nullptr, true);
      own_pairs_->screen({part, rows});
      own_pairs_->finish(best_.data());
      for (Index r = part.first; r < part.last; ++r) {
        Candidate* list = shared_.best.data() + r * BestList::room(k);
        std::copy_n(best_.data() + (r - part.first) * k, k, list);
        shared_.list(r).reset(k, list);
        shared_.publish(r);
      }
    }
  }

  void meet(Index a, Index b) override {
    const Range rows = shared_.rows(a);
    cols_ = shared_.rows(b);
    terms_ = in_.panels.tile_terms[static_cast<std::size_t>(b)];
    read_columns();
    for (Index first = rows.first; first < rows.last; first += panel_rows_at(first, rows)) screen_panel(a, b, first, panel_rows_at(first, rows));
    deliver(b, to_cols_);
  }

  void finish(Range rows, Candidate* out) override {
    for (Index r = rows.first; r < rows.last; ++r, out += in_.queries.k) {
      std::copy_n(shared_.list(r).finish(), in_.queries.k, out);
      const QueryIdentity row = identities_.identity(r);
      if (!identities_.goes_first(row)) continue;
      set_query(r);
      identities_.put_self_first(row, refiner_.key_to_itself(), out);
    }
  }

  core::WorkCounts counts() const noexcept override {
    core::WorkCounts sum{.survivors = survivors_, .refined = refiner_.refined(), .seconds_packing = seconds_packing_};
    sum += own_pairs_->counts();
    return sum;
  }

 private:
  static constexpr Index kHitPanels = 3;               // as in other searches
  static constexpr std::size_t kDeliveredFrom = 1024;  // pairs that wait for one lock; fewer would ask for it often, more let thresholds grow old
  static constexpr std::size_t kAhead = 4;             // lists are far apart: those of so many further pairs are asked for
  static constexpr Index kPrefetchBytes = 1024;

  // --- rows ----------------------------------------------------------------------------------------------------------

  /// Rows that a kernel takes together from here on: a full panel, or what is left by halves.
  Index panel_rows_at(Index first, Range rows) const noexcept {
    Index width = in_.kernels.panel_rows;
    while (width > rows.last - first) width /= 2;
    return width;
  }

  void pack_panel(Index first, Index rows) {
    const Index padded = reader_.padded();
    for (Index r = 0; r < rows; ++r) {
      reader_.read(in_.queries.row_at(first + r), row_.data());
      const prepare::ScreenedQuery query = prepare::narrow_for_screen(*in_.narrowing, in_.kernels, row_.data(), padded, narrow_.data() + r * padded);
      shared_.narrow[static_cast<std::size_t>(first + r)] = query.row;
      shared_.factors[static_cast<std::size_t>(first + r)] = query.factor;
      shared_.reaches[static_cast<std::size_t>(first + r)] = query.reach;
    }
    in_.kernels.interleave(narrow_.data(), padded, rows, shared_.depth, rows, shared_.packed.data() + first * shared_.depth);
  }

  void set_query(Index row) {
    reader_.read(in_.queries.row_at(row), row_.data());
    refiner_.set_query(row_.data());
  }

  // --- pairs of two blocks -------------------------------------------------------------------------------------------

  /// The z that a row's pairs may have at most.
  float tau(Index row) const noexcept { return refiner_.widest(refiner_.z_above(shared_.threshold(row))); }

  void read_columns() {
    const Index count = cols_.size();
    for (Index c = 0; c < count; ++c) col_limits_[static_cast<std::size_t>(c)] = metrics::PairBound::limit_of(in_.narrowing->bound, tau(cols_.first + c));
    // A panel's filling wants nothing.
    std::fill(col_limits_.data() + count, col_limits_.data() + panels() * width_, -kInfinity);
  }

  Index panels() const noexcept { return (cols_.size() + width_ - 1) / width_; }

  void read_rows(Index first, Index rows) {
    for (Index r = 0; r < rows; ++r) {
      PanelRow& row = panel_[static_cast<std::size_t>(r)];
      const prepare::NarrowedRow& narrow = shared_.narrow[static_cast<std::size_t>(first + r)];
      row.known = !narrow.bypass;
      if (row.known) row.bound = metrics::PairBound(in_.narrowing->bound, narrow.terms, terms_);
      thresholds_[static_cast<std::size_t>(r)] = row.known ? row.bound.threshold(tau(first + r)) : kInfinity;
      offsets_[static_cast<std::size_t>(r)] = row.known ? row.bound.offset() : 0.0f;
    }
  }

  void screen_panel(Index a, Index b, Index first, Index rows) {
    const kernels::ScreenKernel screen = prepare::screen_kernels(*in_.narrowing, in_.kernels, rows).mutual;
    const auto column = [&](const auto& values) { return values.size() > 0 ? values.data() + cols_.first : nullptr; };
    read_rows(first, rows);
    kernels::ScreenCall call{.query = shared_.packed.data() + first * shared_.depth,
                             .base = in_.panels.panels.data() + cols_.first * shared_.depth,
                             .bias = column(in_.panels.bias),
                             .thresholds = thresholds_.data(),
                             .lists = lists_.data(),
                             .depth = shared_.depth,
                             .first_panel = 0,
                             .last_panel = panels(),
                             .capacity = static_cast<std::int32_t>(hits_per_row_),
                             .factor = in_.narrowing->factor,
                             .row_factor = shared_.factors.data() + first,
                             .row_reach = shared_.reaches.data() + first,
                             .col_scale = column(in_.panels.col_scale),
                             .col_residual = column(in_.panels.col_residual),
                             .col_start = column(in_.panels.col_start),
                             .col_limits = col_limits_.data(),
                             .row_offsets = offsets_.data()};
    while (true) {
      call.first_panel = screen(call);
      for (Index r = 0; r < rows; ++r) take_hits(first, r);
      compute_kept(first);
      deliver(a, to_rows_);
      if (to_cols_.size() >= kDeliveredFrom) {
        deliver(b, to_cols_);
        read_columns();
      }
      if (call.first_panel == call.last_panel) return;
      read_rows(first, rows);  // so many hits should have lowered the thresholds
    }
  }

  /// The canonical value of a pair is one and the same for both of its rows, so one bracket serves both (docs/numerics.md, section 23).
  void take_hits(Index first, Index r) {
    HitList& list = lists_[static_cast<std::size_t>(r)];
    const std::int32_t count = std::exchange(list.count, 0);
    if (count == 0) return;
    const PanelRow& row = panel_[static_cast<std::size_t>(r)];
    const float row_tau = tau(first + r);
    for (const Hit& hit : std::span(list.hits, static_cast<std::size_t>(count))) {
      if (hit.position >= cols_.size()) continue;  // a panel's filling
      ++survivors_;
      const Index column = cols_.first + hit.position;
      const float lower = row.known ? row.bound.lower(hit.score) : -kInfinity;
      if (lower > row_tau && lower > tau(column)) continue;  // thresholds have fallen since
      kept_.push_back({r, {lower, row.known ? row.bound.upper(hit.score) : kInfinity, static_cast<std::uint32_t>(column)}});
      const std::byte* values = in_.panels.rows.row(in_.panels.row_at(column));
      const Index bytes = std::min(kPrefetchBytes, in_.panels.rows.cols * in_.panels.rows.col_stride);
      for (Index at = 0; at < bytes; at += 64) __builtin_prefetch(values + at);
    }
  }

  void compute_kept(Index first) {
    Index at_hand = -1;
    for (const Kept& kept : kept_) {
      if (kept.row != at_hand) set_query(first + (at_hand = kept.row));
      const Index row = first + kept.row;
      const auto column = static_cast<Index>(kept.pair.position);
      Candidate candidate;  // for the row
      refiner_.keys({&kept.pair, 1}, &candidate);
      if (!(candidate.key > shared_.threshold(row))) to_rows_.push_back({row, candidate});
      if (!(candidate.key > shared_.threshold(column))) to_cols_.push_back({column, {candidate.key, in_.panels.id_at(row)}});
    }
    kept_.clear();
  }

  void deliver(Index block, std::vector<Delivery>& pairs) {
    if (pairs.empty()) return;
    const std::lock_guard lock(shared_.locks[static_cast<std::size_t>(block)]);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (i + 2 * kAhead < pairs.size()) __builtin_prefetch(&shared_.list(pairs[i + 2 * kAhead].row), 1);
      if (i + kAhead < pairs.size()) shared_.list(pairs[i + kAhead].row).prefetch();
      BestList& list = shared_.list(pairs[i].row);
      if (!list.wants(pairs[i].candidate)) continue;
      list.add(pairs[i].candidate);
      shared_.publish(pairs[i].row);
    }
    pairs.clear();
  }

  struct PanelRow {
    metrics::PairBound bound;  // against the columns at work
    bool known = false;        // has a bound
  };

  SharedRows& shared_;
  const CpuTopkInputs& in_;
  prepare::RowReader reader_;
  CpuRefiner refiner_;
  QueryRows identities_;
  std::unique_ptr<core::TopkWorker> own_pairs_;
  Index width_;
  Index hits_per_row_;
  AlignedBuffer<double> row_;          // [padded]
  AlignedBuffer<float> narrow_;        // [panel_rows, padded]
  AlignedBuffer<Hit> hits_;            // [panel_rows, hits_per_row]
  std::vector<HitList> lists_;         // [panel_rows]
  std::vector<PanelRow> panel_;        // [panel_rows]
  AlignedBuffer<float> thresholds_;    // [panel_rows]
  AlignedBuffer<float> offsets_;       // [panel_rows]
  Range cols_;                         // the block whose rows are columns
  metrics::RowTerms terms_;            // its maxima
  AlignedBuffer<float> col_limits_;    // [tile_cols]
  std::vector<Kept> kept_;
  std::vector<Delivery> to_rows_;
  std::vector<Delivery> to_cols_;
  std::vector<Candidate> best_;        // [tile_rows, k]
  std::int64_t survivors_ = 0;
  double seconds_packing_ = 0;
};

std::unique_ptr<core::SymmetricWorker> SharedRows::worker() { return std::make_unique<CpuSymmetricWorker>(*this); }

}  // namespace

std::uint64_t symmetric_row_bytes(Index k, Index depth) noexcept {
  const std::size_t fixed = sizeof(BestList) + sizeof(prepare::NarrowedRow) + 2 * sizeof(float) + sizeof(std::atomic<double>) + sizeof(Index);
  return fixed + static_cast<std::uint64_t>(BestList::room(k)) * sizeof(Candidate) + static_cast<std::uint64_t>(depth) * sizeof(float);
}

std::unique_ptr<core::SymmetricSearch> make_symmetric_topk(const CpuTopkInputs& inputs) { return std::make_unique<SharedRows>(inputs); }

}  // namespace tessera::engine
