// SPDX-License-Identifier: Apache-2.0
// Here: a segment of the base in a device's memory. Not here: how rows are narrowed and packed (prepare/panels.hpp).
#pragma once

#include <memory>
#include <vector>

#include "core/backend.hpp"
#include "engine/cuda_memory.hpp"
#include "engine/cuda_tensor.hpp"
#include "prepare/panels.hpp"

namespace tessera::engine {

struct CudaSegment final : core::PreparedSegment {
  std::unique_ptr<prepare::Panels> host;    // all but the packed words, which are on the device
  DeviceBuffer<float> panels;               // [panels, depth, cuda::kPanel]
  DeviceBuffer<float> bias;                 // [panels, cuda::kPanel]; dot forms
  std::unique_ptr<CudaTensorBase> tensor;   // instead of panels and bias, of tensor-core screens
  DeviceBuffer<float> rows_f32;             // [count, d]: for exact sums, in the order of positions
  DeviceBuffer<double> rows_f64;            // the same, where floats do not hold the rows
  DeviceBuffer<std::uint32_t> row_of_position;  // [count]; empty: position is row

  Index cols() const noexcept override { return host->count; }
  std::uint64_t bytes() const noexcept override { return panels.bytes() + bias.bytes() + (tensor ? tensor->bytes() : 0) + rows_f32.bytes() + rows_f64.bytes() + row_of_position.bytes(); }
  void describe(Report& report) const override { host->describe(report); }

  /// Where a base row is among the positions; cuda::kNoPosition when it has none.
  std::uint32_t position_of(std::int64_t id) const noexcept;
};

/// Uploads a segment that was packed for panels of cuda::kPanel rows. dot: it has biases.
std::unique_ptr<CudaSegment> upload_segment(const std::shared_ptr<cuda::Device>& device, const prepare::RowReader& reader,
                                            std::unique_ptr<prepare::Panels> panels, core::Executor& executor);

}  // namespace tessera::engine
