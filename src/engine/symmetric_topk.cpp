// SPDX-License-Identifier: Apache-2.0
#include "engine/symmetric_topk.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "engine/cpu_refiner.hpp"
#include "engine/query_rows.hpp"
#include "metrics/bound.hpp"
#include "select/row_state.hpp"

namespace tessera::engine {
namespace {

using core::Candidate;
using core::Range;
using kernels::Hit;
using kernels::HitList;
using select::Pending;
using select::RowState;
using support::AlignedBuffer;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// What all workers share. Blocks are tiles of the base. A row's state belongs to whoever holds its block's lock; its threshold may be read by all, and only falls:
/// an old one keeps more pairs, and loses none.
class SharedRows final : public core::SymmetricSearch {
 public:
  explicit SharedRows(const CpuTopkInputs& inputs)
      : in(inputs), depth(in.narrowing->depth), capacity(symmetric_capacity(in.queries.k, in.narrowing->int8)), packed(buffer<float>(in.panels.count * depth)),
        factors(buffer<float>(in.panels.count)), reaches(buffer<float>(in.panels.count)), narrow(buffer<prepare::NarrowedRow>(in.panels.count)),
        states(static_cast<std::size_t>(in.panels.count)), pending(buffer<Pending>(in.panels.count * capacity.pending)), best(buffer<Candidate>(in.panels.count * capacity.k)),
        taus(std::make_unique<std::atomic<float>[]>(static_cast<std::size_t>(in.panels.count))), locks(std::make_unique<std::mutex[]>(static_cast<std::size_t>(blocks()))) {}

  Index blocks() const noexcept override { return (in.panels.count + in.panels.tile_cols - 1) / in.panels.tile_cols; }
  Range rows(Index block) const noexcept override {
    return {block * in.panels.tile_cols, std::min(in.panels.count, (block + 1) * in.panels.tile_cols)};
  }
  std::unique_ptr<core::SymmetricWorker> worker() override;

  RowState& state(Index row) noexcept { return states[static_cast<std::size_t>(row)]; }
  float tau(Index row) const noexcept { return taus[static_cast<std::size_t>(row)].load(std::memory_order_relaxed); }
  void publish(Index row) noexcept { taus[static_cast<std::size_t>(row)].store(state(row).tau(), std::memory_order_relaxed); }

  CpuTopkInputs in;
  Index depth;
  select::RowCapacity capacity;
  AlignedBuffer<float> packed;                  // panels of queries, [rows * depth]
  AlignedBuffer<float> factors;                 // [rows]; 8-bit screen
  AlignedBuffer<float> reaches;                 // [rows]; 8-bit screen
  AlignedBuffer<prepare::NarrowedRow> narrow;   // [rows]
  std::vector<RowState> states;                 // [rows]
  AlignedBuffer<Pending> pending;               // [rows, capacity.pending]
  AlignedBuffer<Candidate> best;                // [rows, k]
  std::unique_ptr<std::atomic<float>[]> taus;   // [rows]
  std::unique_ptr<std::mutex[]> locks;          // [blocks]
};

/// A pair on its way into the state of one of its rows.
struct Delivery {
  std::uint32_t row;
  Pending pair;
};

class CpuSymmetricWorker final : public core::SymmetricWorker {
 public:
  explicit CpuSymmetricWorker(SharedRows& shared)
      : shared_(shared), in_(shared.in), reader_(in_.kernels, in_.queries.queries, in_.traits.unit_rows), refiner_(in_),
        identities_(in_.queries, in_.base, in_.denied, {.first_id = in_.panels.rows.first_id, .count = in_.panels.count, .special = &in_.panels.special}),
        own_pairs_(make_cpu_topk_worker(in_)), width_(in_.kernels.panel_cols), hits_per_row_(kHitPanels * width_), row_(buffer<double>(reader_.padded())),
        narrow_(buffer<float>(in_.kernels.panel_rows * reader_.padded())), hits_(buffer<Hit>(in_.kernels.panel_rows * hits_per_row_)),
        lists_(static_cast<std::size_t>(in_.kernels.panel_rows)), panel_(static_cast<std::size_t>(in_.kernels.panel_rows)), thresholds_(buffer<float>(in_.kernels.panel_rows)),
        offsets_(buffer<float>(in_.kernels.panel_rows)), col_taus_(buffer<float>(in_.panels.tile_cols)), col_limits_(buffer<float>(in_.panels.tile_cols)),
        uppers_(buffer<float>(shared.capacity.k + shared.capacity.pending)), refined_(buffer<Candidate>(shared.capacity.k + shared.capacity.pending)),
        scratch_{{uppers_.data(), uppers_.size()}, {refined_.data(), refined_.size()}}, best_(static_cast<std::size_t>(in_.tile_rows * shared.capacity.k)) {
    for (Index r = 0; r < in_.kernels.panel_rows; ++r) lists_[static_cast<std::size_t>(r)] = {hits_.data() + r * hits_per_row_, 0};
    to_rows_.reserve(static_cast<std::size_t>(kDeliveredFrom + in_.kernels.panel_rows * hits_per_row_));
    to_cols_.reserve(to_rows_.capacity());
  }

  void begin(Index block) override {
    const Range rows = shared_.rows(block);
    for (Index first = rows.first; first < rows.last; first += panel_rows_at(first, rows)) pack_panel(first, panel_rows_at(first, rows));
    // Its own pairs go as in any search; the exact lists they end in are where the states start.
    for (Range part{rows.first, rows.first}; part.first < rows.last; part.first = part.last) {
      part.last = std::min(rows.last, part.first + in_.tile_rows);
      own_pairs_->begin(part, nullptr, true);
      own_pairs_->screen({part, rows});
      own_pairs_->finish(best_.data());
      for (Index r = part.first; r < part.last; ++r) start_state(r, best_.data() + (r - part.first) * shared_.capacity.k);
    }
  }

  void meet(Index a, Index b) override {
    const Range rows = shared_.rows(a);
    cols_ = shared_.rows(b);
    terms_ = in_.panels.tile_terms[static_cast<std::size_t>(b)];
    read_columns();
    for (Index first = rows.first; first < rows.last; first += panel_rows_at(first, rows)) screen_panel(a, b, first, panel_rows_at(first, rows));
    deliver(a, to_rows_);
    deliver(b, to_cols_);
  }

  void finish(Range rows, Candidate* out) override {
    for (Index r = rows.first; r < rows.last; ++r, out += shared_.capacity.k) {
      set_query(r);
      shared_.state(r).finish(refiner_, scratch_, out);
      const QueryIdentity row = identities_.identity(r);
      if (identities_.goes_first(row)) identities_.put_self_first(row, refiner_.key_to_itself(), out);
    }
  }

  core::WorkCounts counts() const noexcept override {
    const core::WorkCounts own = own_pairs_->counts();
    return {own.survivors + survivors_, own.refined + refiner_.refined(), 0};
  }

 private:
  static constexpr Index kHitPanels = 3;         // as in other searches
  static constexpr Index kDeliveredFrom = 4096;  // pairs that wait for one lock: 64 KiB
  static constexpr std::size_t kAhead = 8;       // states are far apart: those of so many further pairs are asked for

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

  void start_state(Index row, const Candidate* list) {
    RowState& state = shared_.state(row);
    state.reset(shared_.capacity, shared_.pending.data() + row * shared_.capacity.pending, shared_.best.data() + row * shared_.capacity.k);
    state.seed(list, shared_.capacity.k, refiner_, scratch_);
    shared_.publish(row);
  }

  void set_query(Index row) {
    reader_.read(in_.queries.row_at(row), row_.data());
    refiner_.set_query(row_.data());
  }

  // --- pairs of two blocks -------------------------------------------------------------------------------------------

  void read_columns() {
    const Index count = cols_.size();
    for (Index c = 0; c < count; ++c) {
      col_taus_[static_cast<std::size_t>(c)] = shared_.tau(cols_.first + c);
      col_limits_[static_cast<std::size_t>(c)] = metrics::PairBound::limit_of(in_.narrowing->bound, col_taus_[static_cast<std::size_t>(c)]);
    }
    // A panel's filling wants nothing.
    std::fill(col_limits_.data() + count, col_limits_.data() + panels() * width_, -kInfinity);
  }

  Index panels() const noexcept { return (cols_.size() + width_ - 1) / width_; }

  void read_rows(Index first, Index rows) {
    for (Index r = 0; r < rows; ++r) {
      PanelRow& row = panel_[static_cast<std::size_t>(r)];
      const prepare::NarrowedRow& narrow = shared_.narrow[static_cast<std::size_t>(first + r)];
      row.known = !narrow.bypass;
      row.tau = shared_.tau(first + r);
      if (row.known) row.bound = metrics::PairBound(in_.narrowing->bound, narrow.terms, terms_);
      thresholds_[static_cast<std::size_t>(r)] = row.known ? row.bound.threshold(row.tau) : kInfinity;
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
      if (std::ssize(to_cols_) >= kDeliveredFrom) {
        deliver(b, to_cols_);
        read_columns();
      }
      const bool done = call.first_panel == call.last_panel;
      if (!done || std::ssize(to_rows_) >= kDeliveredFrom) deliver(a, to_rows_);
      if (done) return;
      read_rows(first, rows);  // so many hits should have lowered the thresholds
    }
  }

  /// The canonical value of a pair is one and the same for both of its rows, so one bracket serves both (docs/numerics.md, section 23).
  void take_hits(Index first, Index r) {
    HitList& list = lists_[static_cast<std::size_t>(r)];
    const PanelRow& row = panel_[static_cast<std::size_t>(r)];
    const auto row_position = static_cast<std::uint32_t>(first + r);
    for (const Hit& hit : std::span(list.hits, static_cast<std::size_t>(std::exchange(list.count, 0)))) {
      if (hit.position >= cols_.size()) continue;  // a panel's filling
      const auto col_position = static_cast<std::uint32_t>(cols_.first) + hit.position;
      const float lower = row.known ? row.bound.lower(hit.score) : -kInfinity;
      const float upper = row.known ? row.bound.upper(hit.score) : kInfinity;
      if (!(lower > row.tau)) to_rows_.push_back({row_position, {lower, upper, col_position}});
      if (!(lower > col_taus_[hit.position])) to_cols_.push_back({col_position, {lower, upper, row_position}});
    }
  }

  void deliver(Index block, std::vector<Delivery>& pairs) {
    if (pairs.empty()) return;
    survivors_ += std::ssize(pairs);
    const std::lock_guard lock(shared_.locks[static_cast<std::size_t>(block)]);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (i + 2 * kAhead < pairs.size()) __builtin_prefetch(&shared_.state(pairs[i + 2 * kAhead].row), 1);
      if (i + kAhead < pairs.size()) shared_.state(pairs[i + kAhead].row).prefetch();
      RowState& state = shared_.state(pairs[i].row);
      state.add(pairs[i].pair);
      if (!state.wants_compaction()) continue;
      set_query(pairs[i].row);
      state.compact(refiner_, scratch_);
      shared_.publish(pairs[i].row);
    }
    pairs.clear();
  }

  struct PanelRow {
    metrics::PairBound bound;  // against the columns at work
    float tau = 0;             // as it was when they were begun
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
  AlignedBuffer<float> col_taus_;      // [tile_cols]
  AlignedBuffer<float> col_limits_;    // [tile_cols]
  std::vector<Delivery> to_rows_;
  std::vector<Delivery> to_cols_;
  AlignedBuffer<float> uppers_;
  AlignedBuffer<Candidate> refined_;
  select::Scratch scratch_;
  std::vector<Candidate> best_;        // [tile_rows, k]
  std::int64_t survivors_ = 0;
};

std::unique_ptr<core::SymmetricWorker> SharedRows::worker() { return std::make_unique<CpuSymmetricWorker>(*this); }

}  // namespace

select::RowCapacity symmetric_capacity(Index k, bool int8) noexcept { return select::RowCapacity::for_k(k, 1, true, int8); }

std::uint64_t symmetric_row_bytes(Index k, Index depth, bool int8) noexcept {
  const select::RowCapacity capacity = symmetric_capacity(k, int8);
  const std::size_t fixed = sizeof(RowState) + sizeof(prepare::NarrowedRow) + 2 * sizeof(float) + sizeof(std::atomic<float>) + sizeof(Index);
  return fixed + static_cast<std::uint64_t>(capacity.pending) * sizeof(Pending) + static_cast<std::uint64_t>(k) * sizeof(Candidate) +
         static_cast<std::uint64_t>(depth) * sizeof(float);
}

std::unique_ptr<core::SymmetricSearch> make_symmetric_topk(const CpuTopkInputs& inputs) { return std::make_unique<SharedRows>(inputs); }

}  // namespace tessera::engine
