// SPDX-License-Identifier: Apache-2.0
// Here: lanes: a stream of the device and the memory that a block of query rows needs on it. There are few, however many threads the host
// has: a worker prepares its rows first, and holds a lane only while the device works for it. Not here: what is launched (cuda_topk.cpp).
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/cuda_memory.hpp"
#include "kernels/cuda/params.hpp"
#include "tessera/rows.hpp"

namespace tessera::engine {

/// How large a row's buffers are; derived from k.
struct CudaCapacity {
  std::uint32_t k = 0;
  std::uint32_t hits = 0;     // of one launch; a multiple of a panel
  std::uint32_t trigger = 0;  // pending pairs that a row may keep
  std::uint32_t batch = 0;    // pairs computed exactly at a time

  /// hits: 0, or what a test wants.
  /// throws   Error{out_of_memory} where k does not fit 32 bits.
  static CudaCapacity for_k(Index k, Index hits = 0);
  std::uint32_t pending() const noexcept { return trigger + hits; }
};

struct LaneShape {
  Index rows = 0;   // whole panels
  Index depth = 0;  // words of a packed row; 0: the double screen
  Index padded = 0;
  CudaCapacity capacity;
};

/// Device bytes of a query row of d columns.
std::uint64_t cuda_row_bytes(Index k, Index d);

struct CudaLane {
  std::unique_ptr<cuda::Stream> stream;
  DeviceBuffer<cuda::RowState> states;
  DeviceBuffer<metrics::RowTerms> terms;
  DeviceBuffer<metrics::PairBound> bounds;
  DeviceBuffer<float> thresholds;
  DeviceBuffer<std::uint32_t> hit_counts;
  DeviceBuffer<cuda::Hit> hits;
  DeviceBuffer<cuda::Pending> pending;
  DeviceBuffer<cuda::Candidate> best;
  DeviceBuffer<cuda::Candidate> lists;
  DeviceBuffer<float> packed;
  DeviceBuffer<unsigned char> tensor_rows;  // of tensor-core screens; made when first needed
  DeviceBuffer<float> tensor_factor;
  DeviceBuffer<float> tensor_reach;
  DeviceBuffer<double> rows;
  DeviceBuffer<std::uint32_t> any_owed;  // [1]
  DeviceBuffer<std::uint64_t> counts;    // [2]
  PinnedBuffer<std::uint32_t> owed_now;  // [1]

  void reserve(const std::shared_ptr<cuda::Device>& device, const LaneShape& shape);
  cuda::RowArrays arrays(const CudaCapacity& capacity) const noexcept;
};

/// Hands out lanes; whoever finds none waits. A lane's holder never waits for another's.
class LanePool {
 public:
  LanePool(std::shared_ptr<cuda::Device> device, int lanes);

  /// A lane for as long as this lives. Its stream is done when it goes back.
  class Hold {
   public:
    Hold() = default;
    Hold(LanePool& pool, std::unique_ptr<CudaLane> lane) noexcept : pool_(&pool), lane_(std::move(lane)) {}
    Hold(Hold&&) noexcept = default;
    Hold& operator=(Hold&& other) noexcept {
      release();
      pool_ = other.pool_;
      lane_ = std::move(other.lane_);
      return *this;
    }
    ~Hold() { release(); }
    CudaLane* operator->() const noexcept { return lane_.get(); }
    CudaLane& operator*() const noexcept { return *lane_; }
    void release() noexcept;

   private:
    LanePool* pool_ = nullptr;
    std::unique_ptr<CudaLane> lane_;
  };
  Hold take(const LaneShape& shape);

  const std::shared_ptr<cuda::Device>& device() const noexcept { return device_; }
  int lanes() const noexcept { return lanes_; }

 private:
  std::shared_ptr<cuda::Device> device_;
  int lanes_;
  std::mutex mutex_;
  std::condition_variable freed_;
  int out_ = 0;
  std::vector<std::unique_ptr<CudaLane>> idle_;
};

}  // namespace tessera::engine
