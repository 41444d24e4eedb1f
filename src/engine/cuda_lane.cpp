// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda_lane.hpp"

#include <algorithm>

#include "prepare/row_reader.hpp"
#include "support/fail.hpp"

namespace tessera::engine {
namespace {

constexpr Index kPanel = cuda::kPanel;
constexpr Index kFewestHits = 8 * kPanel;  // a launch after the first then takes many times the columns seen so far, at k = 10 fifty
constexpr Index kBatch = 512;
constexpr Index kMostK = Index{1} << 28;   // buffers of a row are counted in 32 bits

}  // namespace

CudaCapacity CudaCapacity::for_k(Index k, Index hits) {
  if (k > kMostK) support::fail(ErrorCode::out_of_memory, "{} neighbours a query are more than the CUDA backend keeps, {}: use --backend cpu", k, kMostK);
  const Index room = hits > 0 ? hits : std::max(kFewestHits, k);
  // Twice k amortises a compaction over k new pairs.
  return {.k = static_cast<std::uint32_t>(k),
          .hits = static_cast<std::uint32_t>((room + kPanel - 1) / kPanel * kPanel),
          .trigger = static_cast<std::uint32_t>(2 * k + 32),
          .batch = static_cast<std::uint32_t>(kBatch)};
}

std::uint64_t cuda_row_bytes(Index k, Index d) {
  const CudaCapacity c = CudaCapacity::for_k(std::min(k, kMostK));
  const auto words = static_cast<std::uint64_t>(prepare::padded_cols(d));
  return sizeof(cuda::RowState) + sizeof(metrics::RowTerms) + sizeof(metrics::PairBound) + 2 * sizeof(float) + c.hits * sizeof(cuda::Hit) +
         c.pending() * sizeof(cuda::Pending) + (std::uint64_t{2} * c.k + c.batch) * sizeof(cuda::Candidate) + words * (sizeof(float) + sizeof(double));
}

void CudaLane::reserve(const std::shared_ptr<cuda::Device>& device, const LaneShape& shape) {
  const auto rows_wanted = static_cast<std::size_t>(shape.rows);
  const CudaCapacity& c = shape.capacity;
  if (!stream) stream = device->stream();
  states.reserve(device, rows_wanted);
  terms.reserve(device, rows_wanted);
  bounds.reserve(device, rows_wanted);
  thresholds.reserve(device, rows_wanted);
  hit_counts.reserve(device, rows_wanted);
  hits.reserve(device, rows_wanted * c.hits);
  pending.reserve(device, rows_wanted * c.pending());
  best.reserve(device, rows_wanted * (std::size_t{c.k} + c.batch));
  lists.reserve(device, rows_wanted * c.k);
  packed.reserve(device, rows_wanted * static_cast<std::size_t>(shape.depth));
  rows.reserve(device, rows_wanted * static_cast<std::size_t>(shape.padded));
  any_owed.reserve(device, 1);
  counts.reserve(device, 2);
  owed_now.reserve(device, 1);
}

cuda::RowArrays CudaLane::arrays(const CudaCapacity& c) const noexcept {
  return {.rows = states.data(),
          .terms = terms.data(),
          .bounds = bounds.data(),
          .thresholds = thresholds.data(),
          .hit_counts = hit_counts.data(),
          .hits = hits.data(),
          .pending = pending.data(),
          .best = best.data(),
          .hit_capacity = c.hits,
          .pending_capacity = c.pending(),
          .trigger = c.trigger,
          .k = c.k,
          .batch = c.batch};
}

LanePool::LanePool(std::shared_ptr<cuda::Device> device, int lanes) : device_(std::move(device)), lanes_(lanes) {}

LanePool::Hold LanePool::take(const LaneShape& shape) {
  std::unique_ptr<CudaLane> lane;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return out_ < lanes_; });
    ++out_;
    if (!idle_.empty()) {
      lane = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!lane) lane = std::make_unique<CudaLane>();
  Hold hold(*this, std::move(lane));
  hold->reserve(device_, shape);
  return hold;
}

void LanePool::Hold::release() noexcept {
  if (!lane_) return;
  try {
    if (lane_->stream) lane_->stream->wait();
  } catch (...) {
    lane_.reset();  // the device has failed, and whoever asks it next is told
  }
  const std::scoped_lock lock(pool_->mutex_);
  --pool_->out_;
  if (lane_) pool_->idle_.push_back(std::move(lane_));
  pool_->freed_.notify_one();
}

}  // namespace tessera::engine
