// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda_topk.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "engine/canonical_pair.hpp"
#include "engine/control.hpp"
#include "engine/query_rows.hpp"
#include "kernels/cuda/shapes.hpp"

namespace tessera::engine {
namespace {

using core::Candidate;
using core::Range;
using cuda::KernelId;
using cuda::panels_of;

constexpr Index kPanel = cuda::kPanel;

static_assert(sizeof(Candidate) == sizeof(cuda::Candidate) && offsetof(Candidate, id) == offsetof(cuda::Candidate, id));

KernelId screen_kernel(metrics::Element element) noexcept {
  switch (element) {
    case metrics::Element::squared_difference: return KernelId::screen_squared;
    case metrics::Element::product: return KernelId::screen_product;
    case metrics::Element::absolute_difference: return KernelId::screen_absolute;
    case metrics::Element::maximum_difference: break;
  }
  return KernelId::screen_maximum;
}

/// Rows of one block on their way to the device; pinned, [rows of whole panels].
struct Staging {
  PinnedBuffer<cuda::RowState> states;
  PinnedBuffer<metrics::RowTerms> terms;
  PinnedBuffer<float> packed;       // [panels, depth, kPanel]
  PinnedBuffer<double> rows;        // [rows, padded]
  PinnedBuffer<cuda::Candidate> seeds;  // [rows, k]; made when first needed
};

class CudaTopkWorker final : public core::TopkWorker {
 public:
  explicit CudaTopkWorker(const CudaTopkInputs& in)
      : in_(in), reader_(in.kernels, in.queries.queries, in.traits.unit_rows), pair_(in.kernels, in.traits, nullptr),
        identities_(in.queries, in.base, in.denied, {.first_id = in.segment.host->rows.first_id, .count = in.segment.host->count, .special = &in.segment.host->special}),
        keys_(in.traits, in.narrowing != nullptr ? in.narrowing->bound.z_scale : 1.0),
        shape_{.rows = panels_of(in.tile_rows) * kPanel, .depth = in.narrowing != nullptr ? in.narrowing->depth : 0, .padded = reader_.padded(),
               .capacity = CudaCapacity::for_k(in.queries.k, in.hits)},
        rows_(static_cast<std::size_t>(in.tile_rows)), narrow_(static_cast<std::size_t>(in.narrowing != nullptr ? kPanel * reader_.padded() : 0)) {
    const auto rows = static_cast<std::size_t>(shape_.rows);
    const auto& device = in.lanes.device();
    staging_.states.reserve(device, rows);
    staging_.terms.reserve(device, rows);
    if (in.segment.tensor) {
      shape_.depth = 0;
      tensor_.emplace(*in.narrowing, in.kernels, shape_.rows, shape_.padded);
    }
    staging_.packed.reserve(device, rows * static_cast<std::size_t>(shape_.depth));
    staging_.rows.reserve(device, rows * static_cast<std::size_t>(shape_.padded));
  }

  void begin(Range rows, const Candidate* carry, bool lead) override {
    first_row_ = rows.first;
    count_ = rows.size();
    bool seeded = false;
    const Stopwatch packing;
    for (Index r = 0; r < panels_of(count_) * kPanel; ++r) seeded = stage_row(r, carry, lead) || seeded;
    if (in_.narrowing != nullptr) stage_panels();
    counts_.seconds_packing += packing.seconds();
    // A threshold from earlier segments is as good as that many columns.
    seen_ = carry != nullptr ? in_.segment.host->rows.first_id - in_.base.first_id : 0;
    lane_ = in_.lanes.take(shape_);
    upload(seeded);
  }

  void screen(const core::Tile& tile) override {
    if (in_.narrowing == nullptr) return take_every(tile.cols);
    const metrics::RowTerms& terms = in_.segment.host->tile_terms[static_cast<std::size_t>(tile.cols.first / in_.segment.host->tile_cols)];
    for (Range part{tile.cols.first, tile.cols.first}; part.first < tile.cols.last; part.first = part.last) {
      part.last = std::min(tile.cols.last, part.first + next_width());
      screen_columns(part, terms, false);
      seen_ += part.size();
      if (part.size() > shape_.capacity.hits && owed()) screen_again(part, terms);
    }
  }

  void finish(Candidate* out) override {
    launch_select({.every_first = 0, .every_last = 0, .finish = true, .lists = lane_->lists.data()});
    std::uint64_t counts[2];
    lane_->stream->copy_out(counts, lane_->counts.data(), sizeof counts);
    lane_->stream->copy_out(out, lane_->lists.data(), static_cast<std::size_t>(count_ * in_.queries.k) * sizeof(Candidate));
    lane_->stream->wait();
    lane_.release();
    counts_.survivors += static_cast<std::int64_t>(counts[0]);
    counts_.refined += static_cast<std::int64_t>(counts[1]);
  }

  void place_self(Candidate* lists) override {
    for (Index r = 0; r < count_; ++r, lists += in_.queries.k) {
      const QueryIdentity& row = rows_[static_cast<std::size_t>(r)];
      if (!identities_.goes_first(row)) continue;
      identities_.put_self_first(row, pair_.key(query_row(r), query_row(r), reader_.padded()), lists);
    }
  }

  core::WorkCounts counts() const noexcept override { return counts_; }

 private:
  double* query_row(Index r) const noexcept { return staging_.rows.data() + r * shape_.padded; }

  // --- a block's rows ----------------------------------------------------------------------------------------------

  /// returns  true when candidates of this row are known.
  bool stage_row(Index r, const Candidate* carry, bool lead) {
    cuda::RowState state{.tau = std::numeric_limits<float>::infinity(), .kind = cuda::RowKind::unsearched, .owed = false,
                         .own_position = cuda::kNoPosition, .pending = 0, .best = 0};
    std::span<const Candidate> seeds;
    std::fill_n(query_row(r), shape_.padded, 0.0);
    if (r < count_) {
      QueryIdentity& row = rows_[static_cast<std::size_t>(r)];
      row = identities_.identity(first_row_ + r);
      if (row.kind != RowKind::skipped) reader_.read(in_.queries.row_at(first_row_ + r), query_row(r));
      if (row.kind == RowKind::searched) state.kind = cuda::RowKind::searched;
      if (row.drop_own) state.own_position = in_.segment.position_of(row.own_id);
      seeds = identities_.seeds(row, carry != nullptr ? carry + r * in_.queries.k : nullptr, lead);
    }
    if (!seeds.empty()) seed(r, seeds, state);
    staging_.states[static_cast<std::size_t>(r)] = state;
    return !seeds.empty();
  }

  void seed(Index r, std::span<const Candidate> seeds, cuda::RowState& state) {
    const Index k = in_.queries.k;
    staging_.seeds.reserve(in_.lanes.device(), static_cast<std::size_t>(shape_.rows * k));
    sorted_.assign(seeds.begin(), seeds.end());
    const Index count = std::min(k, std::ssize(sorted_));
    std::partial_sort(sorted_.begin(), sorted_.begin() + count, sorted_.end());
    std::transform(sorted_.begin(), sorted_.begin() + count, staging_.seeds.data() + r * k, [](const Candidate& c) { return cuda::Candidate{c.key, c.id}; });
    state.best = static_cast<std::uint32_t>(count);
    if (count == k) state.tau = keys_.widest(keys_.z_above(sorted_[static_cast<std::size_t>(k - 1)].key));
  }

  void stage_panels() {
    const Index padded = shape_.padded;
    if (tensor_) {
      for (Index r = 0; r < panels_of(count_) * kPanel; ++r) narrow_row(r, nullptr);
      return;
    }
    for (Index first = 0; first < panels_of(count_) * kPanel; first += kPanel) {
      for (Index i = 0; i < kPanel; ++i) narrow_row(first + i, narrow_.data() + i * padded);
      in_.kernels.interleave(narrow_.data(), padded, kPanel, shape_.depth, kPanel, staging_.packed.data() + first * shape_.depth);
    }
  }

  void narrow_row(Index r, float* out) {
    cuda::RowState& state = staging_.states[static_cast<std::size_t>(r)];
    metrics::RowTerms& terms = staging_.terms[static_cast<std::size_t>(r)];
    if (!tensor_) std::fill_n(out, shape_.padded, 0.0f);
    terms = {};
    if (state.kind != cuda::RowKind::searched) return;
    const prepare::NarrowedRow row = tensor_ ? tensor_->put(r, query_row(r)) : prepare::narrow_query_row(*in_.narrowing, in_.kernels, query_row(r), shape_.padded, out);
    terms = row.terms;
    if (!row.bypass) return;
    state.kind = cuda::RowKind::bypass;
    if (!tensor_) std::fill_n(out, shape_.padded, std::numeric_limits<float>::quiet_NaN());
  }

  void upload(bool seeded) {
    cuda::Stream& stream = *lane_->stream;
    const auto rows = static_cast<std::size_t>(panels_of(count_) * kPanel);
    stream.copy_in(lane_->states.data(), staging_.states.data(), rows * sizeof(cuda::RowState));
    stream.copy_in(lane_->rows.data(), staging_.rows.data(), rows * static_cast<std::size_t>(shape_.padded) * sizeof(double));
    if (in_.narrowing != nullptr) {
      stream.copy_in(lane_->terms.data(), staging_.terms.data(), rows * sizeof(metrics::RowTerms));
      if (tensor_) {
        tensor_->upload(in_.lanes.device(), *lane_, static_cast<Index>(rows));
      } else {
        stream.copy_in(lane_->packed.data(), staging_.packed.data(), rows * static_cast<std::size_t>(shape_.depth) * sizeof(float));
      }
    }
    stream.fill(lane_->hit_counts.data(), 0, rows * sizeof(std::uint32_t));
    stream.fill(lane_->any_owed.data(), 0, sizeof(std::uint32_t));
    stream.fill(lane_->counts.data(), 0, 2 * sizeof(std::uint64_t));
    if (!seeded) return;
    stream.copy_in(lane_->lists.data(), staging_.seeds.data(), static_cast<std::size_t>(count_ * in_.queries.k) * sizeof(cuda::Candidate));
    const cuda::SeedParams params{.arrays = lane_->arrays(shape_.capacity), .lists = lane_->lists.data()};
    stream.launch(KernelId::seed, cuda::seed_shape(count_), &params);
  }

  // --- screens -----------------------------------------------------------------------------------------------------

  /// Columns of the next launch: as many as will leave a row's buffer half empty, if neighbours lie anywhere. At first only so many
  /// that it cannot overflow.
  Index next_width() const noexcept {
    const Index hits = shape_.capacity.hits;
    const double growth = static_cast<double>(hits - kPanel / 2) / (2.0 * static_cast<double>(in_.queries.k));
    const double width = std::min(static_cast<double>(seen_) * growth, 0x1p40);
    return std::max(hits, static_cast<Index>(width) / kPanel * kPanel);
  }

  /// A launch over columns [first, last), first a multiple of a panel.
  void screen_columns(Range cols, const metrics::RowTerms& terms, bool owed_only) {
    const cuda::RowArrays arrays = lane_->arrays(shape_.capacity);
    const Index row_panels = panels_of(count_);
    const cuda::BoundParams bounds{.arrays = arrays, .context = in_.narrowing->bound, .tile = terms,
                                   .count = static_cast<std::uint32_t>(row_panels * kPanel), .owed_only = owed_only};
    lane_->stream->launch(KernelId::bounds, cuda::bounds_shape(row_panels * kPanel), &bounds);
    if (tensor_) {
      tensor_->launch(*lane_, arrays, *in_.segment.tensor, cols, row_panels * kPanel, in_.multiprocessors);
      launch_select({});
      return;
    }
    const cuda::ScreenParams screen{.queries = lane_->packed.data(),
                                    .base = in_.segment.panels.data(),
                                    .bias = in_.segment.bias.data(),
                                    .arrays = arrays,
                                    .first_panel = static_cast<std::uint32_t>(cols.first / kPanel),
                                    .columns = static_cast<std::uint32_t>(in_.segment.host->count),
                                    .depth = static_cast<std::uint32_t>(shape_.depth),
                                    .factor = in_.narrowing->factor};
    lane_->stream->launch(screen_kernel(in_.narrowing->element), cuda::screen_shape(panels_of(cols.size()), row_panels), &screen);
    launch_select({});
  }

  /// The rows whose hits did not fit, over columns so few that they do.
  void screen_again(Range cols, const metrics::RowTerms& terms) {
    for (Range part{cols.first, cols.first}; part.first < cols.last; part.first = part.last) {
      part.last = std::min<Index>(cols.last, part.first + shape_.capacity.hits);
      screen_columns(part, terms, true);
    }
  }

  bool owed() {
    lane_->stream->copy_out(lane_->owed_now.data(), lane_->any_owed.data(), sizeof(std::uint32_t));
    lane_->stream->fill(lane_->any_owed.data(), 0, sizeof(std::uint32_t));
    lane_->stream->wait();
    return lane_->owed_now[0] != 0;
  }

  /// The double screen: every pair is computed.
  void take_every(Range cols) {
    for (Range part{cols.first, cols.first}; part.first < cols.last; part.first = part.last) {
      part.last = std::min<Index>(cols.last, part.first + shape_.capacity.hits);
      launch_select({.every_first = static_cast<std::uint32_t>(part.first), .every_last = static_cast<std::uint32_t>(part.last)});
    }
  }

  struct SelectWish {
    std::uint32_t every_first = 0;
    std::uint32_t every_last = 0;
    bool finish = false;
    cuda::Candidate* lists = nullptr;
  };

  void launch_select(const SelectWish& wish) {
    const CudaSegment& segment = in_.segment;
    const cuda::SelectParams params{.arrays = lane_->arrays(shape_.capacity),
                                    .refine = {.queries = lane_->rows.data(),
                                               .base_f32 = segment.rows_f32.data(),
                                               .base_f64 = segment.rows_f64.data(),
                                               .row_of_position = segment.row_of_position.data(),
                                               .first_id = segment.host->rows.first_id,
                                               .d = static_cast<std::uint32_t>(in_.base.cols),
                                               .query_stride = static_cast<std::uint32_t>(shape_.padded),
                                               .element = in_.traits.canonical,
                                               .keys = keys_},
                                    .every_first = wish.every_first,
                                    .every_last = wish.every_last,
                                    .finish = wish.finish,
                                    .lists = wish.lists,
                                    .any_owed = lane_->any_owed.data(),
                                    .counts = lane_->counts.data()};
    lane_->stream->launch(KernelId::select, cuda::select_shape(count_, in_.queries.k), &params);
  }

  CudaTopkInputs in_;
  prepare::RowReader reader_;
  CanonicalPair pair_;
  QueryRows identities_;
  metrics::KeyScale keys_;
  LaneShape shape_;
  std::vector<QueryIdentity> rows_;  // [tile_rows]
  support::AlignedBuffer<float> narrow_;  // [kPanel, padded]
  Staging staging_;
  std::optional<CudaTensorQueries> tensor_;  // of tensor-core screens
  std::vector<Candidate> sorted_;
  LanePool::Hold lane_;
  Index first_row_ = 0;
  Index count_ = 0;
  Index seen_ = 0;  // columns that thresholds rest on
  core::WorkCounts counts_;
};

}  // namespace

std::unique_ptr<core::TopkWorker> make_cuda_topk_worker(const CudaTopkInputs& inputs) { return std::make_unique<CudaTopkWorker>(inputs); }

}  // namespace tessera::engine
