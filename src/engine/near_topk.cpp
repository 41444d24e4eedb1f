// SPDX-License-Identifier: Apache-2.0
#include "engine/near_topk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/query_rows.hpp"
#include "metrics/bound.hpp"

namespace tessera::engine {
namespace {

using core::Candidate;
using core::Range;
using core::Tile;
using support::AlignedBuffer;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class NearTopkWorker final : public core::TopkWorker, private core::TileWalk {
 public:
  explicit NearTopkWorker(const CpuTopkInputs& in)
      : in_(in), near_(in.kernels.near), reader_(in.kernels, in.queries.queries, in.traits.unit_rows),
        identities_(in.queries, in.base, in.denied, {.first_id = in.panels.rows.first_id, .count = in.panels.count, .special = &in.panels.special}), depth_(in.narrowing->depth),
        stride_(in.panels.exact_stride), k_(in.queries.k), wanted_(static_cast<std::int32_t>(in.queries.self == SelfMode::exclude || in.queries.self == SelfMode::first ? k_ + 1 : k_)),
        trigger_(wanted_ + wanted_ / 2 + 8), capacity_(std::max<Index>(trigger_ + 2 * in.kernels.panel_cols, kernels::kMostRanked)),
        lists_stride_((capacity_ + 2 * kernels::kNearSlack - 1) / kernels::kNearSlack * kernels::kNearSlack), rows_(in.kernels.panel_rows),
        screen_(in.fold == nullptr ? near_.screen(in.traits.direct_element) : near_.periodic_screen(in.fold->box ? kernels::Folding::box : kernels::Folding::list)),
        coarse_(in.fold == nullptr || in.fold->box ? screen_ : near_.periodic_screen(kernels::Folding::brick)),
        sums_of_(near_.sums(in.traits.canonical)), query_rows_(buffer<double>(rows_ * stride_)), row_(buffer<double>(reader_.padded())), narrow_(buffer<float>(rows_ * reader_.padded())),
        packed_(buffer<float>(rows_ * depth_)), thresholds_(buffer<float>(rows_)), scores_(buffer<float>(rows_ * lists_stride_)), positions_(buffer<std::uint32_t>(rows_ * lists_stride_)),
        counts_(buffer<std::int32_t>(rows_)), sums_(buffer<double>(std::max<Index>(lists_stride_ + 16, kernels::kMostRanked))), ranks_(buffer<std::int64_t>(kernels::kMostRanked)),
        asked_(static_cast<std::size_t>(rows_)), candidates_(static_cast<std::size_t>(capacity_)) {
    lists_ = {scores_.data(), positions_.data(), counts_.data(), lists_stride_};
    call_ = {.screen = {.query = packed_.data(),
                        .base = in.panels.panels.data(),
                        .bias = nullptr,
                        .thresholds = thresholds_.data(),
                        .lists = nullptr,
                        .depth = depth_,
                        .first_panel = 0,
                        .last_panel = 0,
                        .capacity = 0,
                        .factor = 1,
                        .fold = in.fold != nullptr ? &in.fold->terms : nullptr},
             .lists = lists_,
             .columns = in.panels.count};
    if (in.traits.z_cap < std::numeric_limits<double>::infinity()) cap_ = metrics::float_down(in.traits.z_cap * in.narrowing->bound.z_scale);
  }

  void begin(Range rows, const Candidate* carry, bool lead) override {
    count_ = rows.size();
    passed_on_ = carry != nullptr || !take_rows(rows);
    if (passed_on_) return general().begin(rows, carry, lead);
    std::fill_n(counts_.begin(), rows_, 0);
    std::fill_n(thresholds_.begin(), count_, kInfinity);
    std::fill_n(thresholds_.begin() + count_, rows_ - count_, -kInfinity);
    rows_begun_ = rows;
    tightened_ = false;
    reach_ = kInfinity;
    pruned_ += in_.panels.count * count_;
    panel_pruned_ = in_.panels.count * count_;
    walk_.start(box_);
  }

  core::TileWalk* near_to_far() override { return this; }

  void screen(const Tile& tile) override {
    if (passed_on_) return general().screen(tile);
    const Index width = in_.kernels.panel_cols;
    for (Index panel = tile.cols.first / width; panel * width < tile.cols.last; ++panel) {
      call_.screen.first_panel = panel;
      call_.screen.last_panel = panel + 1;
      const auto kernel = in_.fold != nullptr && reach_ < in_.fold->safe ? coarse_ : screen_;
      if (kernel(call_) < (tightened_ ? trigger_ : wanted_)) continue;
      tighten(tightened_ ? trigger_ : wanted_);
      // Ties, mostly: whoever keeps exact candidates beside those that wait can go on.
      if (*std::max_element(counts_.begin(), counts_.end()) + width > capacity_) return pass_on();
    }
  }

  void finish(Candidate* out) override {
    if (passed_on_) return general().finish(out);
    tighten((wanted_ + kTogether - 1) / kTogether * kTogether + 1);
    for (Index r = 0; r < count_; ++r, out += k_) finish_row(r, out);
  }

  void place_self(Candidate* lists) override {
    if (passed_on_) return general().place_self(lists);
    for (Index r = 0; r < count_; ++r, lists += k_) {
      const QueryIdentity& row = asked_[static_cast<std::size_t>(r)];
      if (identities_.goes_first(row)) identities_.put_self_first(row, in_.traits.key(0.0), lists);
    }
  }

  core::WorkCounts counts() const noexcept override {
    core::WorkCounts sum{.survivors = survivors_, .refined = refined_, .pruned = pruned_};
    if (general_) sum += general_->counts();
    return sum;
  }

 private:
  static constexpr std::int32_t kTogether = 16;  // pairs computed at a time: a list that takes no more such steps than it must is short enough

  // --- panels that are not plain ------------------------------------------------------------------------------------

  core::TopkWorker& general() {
    if (!general_) general_ = make_cpu_topk_worker(in_);
    return *general_;
  }

  /// Starts the panel anew: nothing of it has left this worker.
  void pass_on() {
    passed_on_ = true;
    pruned_ -= panel_pruned_;
    general().begin(rows_begun_, nullptr, true);
  }

  bool next(Range& cols) override {
    if (passed_on_) return general().near_to_far()->next(cols);
    if (!walk_.next(reach_, cols)) return false;
    pruned_ -= cols.size() * count_;
    panel_pruned_ -= cols.size() * count_;
    return true;
  }

  // --- queries ------------------------------------------------------------------------------------------------------

  /// Reads and narrows the rows. False when one of them, or the base, is not plain.
  bool take_rows(Range rows) {
    if (in_.panels.bypassed || !in_.panels.special.zero.empty()) return false;
    lined_ = false;
    const auto* const packed = static_cast<const prepare::Panels*>(in_.queries.packed.get());
    if (packed != nullptr && rows.last <= packed->count) return take_packed(*packed, rows);
    residual_ = 0;
    exact_rows_ = query_rows_.data();
    prepare::clear_box(box_);
    for (Index r = 0; r < rows.size(); ++r) {
      if (!take_row(r, rows.first + r)) return false;
    }
    for (Index r = rows.size(); r < rows_; ++r) std::copy_n(narrow_.data(), depth_, narrow_.data() + r * reader_.padded());
    in_.kernels.interleave(narrow_.data(), reader_.padded(), rows_, depth_, rows_, packed_.data());
    return true;
  }

  /// Places are positions of rows that are packed already.
  bool take_packed(const prepare::Panels& packed, Range rows) {
    const Index width = in_.kernels.panel_cols;
    const auto d = static_cast<std::size_t>(depth_);
    exact_rows_ = packed.exact.data() + rows.first * stride_;
    residual_ = packed.all_terms.residual;
    const bool together = rows.size() == rows_ && rows.first % width + rows_ <= width;  // in one panel, side by side
    for (std::size_t t = 0; t < d; ++t) {
      float* row = packed_.data() + static_cast<Index>(t) * rows_;
      const auto from = [&](Index place) { return packed.panels.data() + (place / width * depth_ + static_cast<Index>(t)) * width + place % width; };
      if (together) std::copy_n(from(rows.first), rows_, row);
      for (Index r = 0; r < rows_ && !together; ++r) row[r] = *from(rows.first + std::min(r, rows.size() - 1));
      float low = row[0], high = row[0];
      bool bounded = true;  // false: NaN, which has no bound
      for (Index r = 0; r < rows_; ++r) {
        low = row[r] < low ? row[r] : low;
        high = row[r] > high ? row[r] : high;
        bounded = bounded && row[r] == row[r];
      }
      if (!bounded) return false;
      box_[t] = low;
      box_[d + t] = high;
    }
    for (Index r = 0; r < rows.size(); ++r) asked_[static_cast<std::size_t>(r)] = identities_.identity(rows.first + r);
    return true;
  }

  bool take_row(Index r, Index place) {
    QueryIdentity& row = asked_[static_cast<std::size_t>(r)];
    row = identities_.identity(place);
    if (row.kind != RowKind::searched) return false;
    reader_.read(in_.queries.row_at(place), row_.data());
    std::copy_n(row_.data(), stride_, query_rows_.data() + r * stride_);
    float* narrow = narrow_.data() + r * reader_.padded();
    const prepare::NarrowedRow narrowed = prepare::narrow_query_row(*in_.narrowing, in_.kernels, row_.data(), reader_.padded(), narrow);
    if (narrowed.bypass) return false;
    residual_ = std::max(residual_, narrowed.terms.residual);
    prepare::include_row(std::span(box_), narrow);
    return true;
  }

  // --- thresholds ---------------------------------------------------------------------------------------------------

  void tighten(std::int32_t from) {
    if (!std::exchange(lined_, true)) {
      // One bound for the panel. Its line is best near the distances that neighbours have; any will do.
      const float near = last_reach_ > 0 || counts_[0] == 0 ? last_reach_ : *std::max_element(scores_.begin(), scores_.begin() + counts_[0]);
      line_ = metrics::PairBound(in_.narrowing->bound, {.residual = residual_}, in_.panels.all_terms).threshold_line(near);
      line_.cap = std::min(line_.cap, cap_);
    }
    survivors_ += near_.tighten(lists_, thresholds_.data(), count_, wanted_, from, line_);
    reach_ = *std::max_element(thresholds_.begin(), thresholds_.begin() + count_);
    tightened_ = reach_ < kInfinity;
    if (tightened_) last_reach_ = reach_;
  }

  // --- answers ------------------------------------------------------------------------------------------------------

  /// Canonical keys of what is left of a row.
  void compute_keys(Index r, Index count) {
    const double* x = exact_rows_ + r * stride_;
    const std::uint32_t* positions = positions_.data() + r * lists_stride_;
    refined_ += count;
    if (in_.lattice != nullptr) {
      near_.nearest_keys(*in_.lattice, x, in_.panels.exact.data(), stride_, positions, count, sums_.data());
    } else {
      sums_of_(x, in_.panels.exact.data(), stride_, std::min(stride_, in_.base.cols), positions, count, sums_.data());
    }
    for (Index i = 0; i < count; ++i) sums_[i] = in_.traits.key(sums_[i]);
  }

  void finish_row(Index r, Candidate* out) {
    Index count = counts_[r];
    survivors_ += count;
    compute_keys(r, count);
    const std::uint32_t* positions = positions_.data() + r * lists_stride_;
    const QueryIdentity& row = asked_[static_cast<std::size_t>(r)];
    const std::int64_t own = row.drop_own ? row.own_id : -1;
    Candidate* const all = candidates_.data();
    Index left = 0;
    for (Index i = 0; i < count; ++i) {
      all[left] = {sums_[i], in_.panels.id_at(positions[i])};
      sums_[left] = sums_[i];
      left += all[left].id == own ? 0 : 1;
    }
    const Index keep = std::min(k_, left);
    if (left <= kernels::kMostRanked && near_.rank(sums_.data(), left, ranks_.data())) {
      for (Index i = 0; i < left; ++i) {
        if (ranks_[i] < keep) out[ranks_[i]] = all[i];
      }
    } else {
      std::partial_sort(all, all + keep, all + left);
      std::copy_n(all, keep, out);
    }
    std::fill(out + keep, out + k_, Candidate{});
  }

  CpuTopkInputs in_;
  const kernels::NearKernels& near_;
  prepare::RowReader reader_;
  QueryRows identities_;
  Index depth_;
  Index stride_;                     // of exact rows
  Index k_;
  std::int32_t wanted_;              // entries that a threshold is taken from: k, and one more where the own row is to go
  std::int32_t trigger_;             // entries at which a threshold is taken again
  Index capacity_;
  Index lists_stride_;
  Index rows_;                       // of a panel
  kernels::NearScreenKernel screen_;
  kernels::NearScreenKernel coarse_;  // periodic: without the list of images that folding may miss
  kernels::GatheredSumsKernel sums_of_;
  AlignedBuffer<double> query_rows_;  // [rows, stride]
  const double* exact_rows_ = nullptr;  // [rows, stride]: query_rows_, or where the base has them
  AlignedBuffer<double> row_;         // [padded]
  AlignedBuffer<float> narrow_;       // [rows, padded]
  AlignedBuffer<float> packed_;       // [depth, rows]
  AlignedBuffer<float> thresholds_;   // [rows]
  AlignedBuffer<float> scores_;       // [rows, lists_stride]
  AlignedBuffer<std::uint32_t> positions_;
  AlignedBuffer<std::int32_t> counts_;  // [rows]
  AlignedBuffer<double> sums_;
  AlignedBuffer<std::int64_t> ranks_;
  std::vector<QueryIdentity> asked_;    // [rows]
  std::vector<Candidate> candidates_;   // [capacity]
  kernels::NearLists lists_{};
  kernels::NearCall call_{};         // of the panel at work, but for the base's panels
  prepare::NearToFar walk_{in_.panels.tree, {in_.kernels, in_.traits.direct_element}, in_.fold != nullptr ? std::span<const double>(in_.fold->shifts) : std::span<const double>{}};
  std::vector<float> box_ = std::vector<float>(static_cast<std::size_t>(2 * depth_));
  metrics::ThresholdLine line_;
  float cap_ = kInfinity;            // scores from which keys tie (cosine's clamp)
  double residual_ = 0;              // the panel's largest
  bool lined_ = false;               // line_ is the panel's
  float reach_ = kInfinity;
  float last_reach_ = 0;             // of the panel before
  Range rows_begun_;
  Index count_ = 0;
  bool tightened_ = false;           // every row has a threshold
  bool passed_on_ = false;
  std::unique_ptr<core::TopkWorker> general_;
  std::int64_t panel_pruned_ = 0;
  std::int64_t survivors_ = 0;
  std::int64_t refined_ = 0;
  std::int64_t pruned_ = 0;
};

}  // namespace

bool has_near_topk(const CpuTopkInputs& in) noexcept {
  return in.pruned && in.narrowing != nullptr && in.panels.exact_stride > 0 && in.kernels.near.screen(in.traits.direct_element) != nullptr;
}

std::unique_ptr<core::TopkWorker> make_near_topk_worker(const CpuTopkInputs& inputs) { return std::make_unique<NearTopkWorker>(inputs); }

}  // namespace tessera::engine
