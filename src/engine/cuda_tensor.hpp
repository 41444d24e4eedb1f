// SPDX-License-Identifier: Apache-2.0
// Here: both sides of a search as tensor cores take them, in a device's memory, and the launch over them (kernel D). Not here: how rows are
// narrowed and laid out (prepare/tensor_rows.hpp), lanes and selection (cuda_topk.cpp).
#pragma once

#include <memory>

#include "core/executor.hpp"
#include "engine/cuda_lane.hpp"
#include "prepare/panels.hpp"
#include "prepare/tensor_rows.hpp"

namespace tessera::engine {

/// The base rows of a segment.
struct CudaTensorBase {
  DeviceBuffer<unsigned char> panels;
  DeviceBuffer<float> bias;      // [whole panels], as the others
  DeviceBuffer<float> residual;
  DeviceBuffer<float> scale;
  Index count = 0;
  Index chunks = 0;
  std::uint64_t bytes() const noexcept { return panels.bytes() + bias.bytes() + residual.bytes() + scale.bytes(); }
};

/// Packs and uploads the rows that `positions` numbers, whose tile terms it fills in.
std::unique_ptr<CudaTensorBase> upload_tensor_base(const std::shared_ptr<cuda::Device>& device, const prepare::RowReader& reader, const prepare::Narrowing& narrowing,
                                                   prepare::Panels& positions, core::Executor& executor);

/// One worker's query rows.
class CudaTensorQueries {
 public:
  /// rows: whole panels, the most of a block.
  CudaTensorQueries(const prepare::Narrowing& narrowing, const kernels::CpuKernels& kernels, Index rows, Index padded);

  /// Row r of the block, [padded] doubles.
  const prepare::NarrowedRow& put(Index r, const double* row);
  /// Brings the first `rows` on their way into the lane. They may change once its stream is done.
  void upload(const std::shared_ptr<cuda::Device>& device, CudaLane& lane, Index rows) const;
  /// Scores of `rows` rows against columns [cols.first, cols.last), whole panels but at the end. multiprocessors: of the device.
  void launch(CudaLane& lane, const cuda::RowArrays& arrays, const CudaTensorBase& base, core::Range cols, Index rows, int multiprocessors) const;

 private:
  prepare::TensorType type_;
  prepare::TensorRows rows_;
  prepare::TensorRows::Scratch scratch_;
};

}  // namespace tessera::engine
