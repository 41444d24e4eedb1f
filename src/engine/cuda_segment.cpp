// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda_segment.hpp"

#include <algorithm>

#include "kernels/cuda/params.hpp"
#include "prepare/narrowing.hpp"

namespace tessera::engine {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{32} << 20;
constexpr Index kRowsPerTask = 256;

/// Rows as floats, one after the other where they lie.
bool lies_as_floats(const RowSet& rows) noexcept {
  constexpr auto kFloat = static_cast<Index>(sizeof(float));
  return rows.dtype == DType::f32 && !rows.byte_swapped && rows.col_stride == kFloat && rows.row_stride == kFloat * rows.cols;
}

/// Reads rows by positions into pinned memory, and sends them off, a piece after the other.
template <class T>
DeviceBuffer<T> upload_rows(const std::shared_ptr<cuda::Device>& device, cuda::Stream& stream, const prepare::RowReader& reader,
                            const prepare::Panels& panels, core::Executor& executor) {
  const Index d = reader.rows().cols;
  const auto row_bytes = static_cast<std::size_t>(d) * sizeof(T);
  DeviceBuffer<T> to(device, static_cast<std::size_t>(panels.count * d));
  const Index piece = std::clamp<Index>(static_cast<Index>(kStagingBytes / row_bytes), 1, std::max<Index>(panels.count, 1));
  PinnedBuffer<T> staging(device, static_cast<std::size_t>(piece * d));
  for (Index first = 0; first < panels.count; first += piece) {
    const Index count = std::min(piece, panels.count - first);
    executor.run((count + kRowsPerTask - 1) / kRowsPerTask, [&](Index task, int) {
      support::AlignedBuffer<double> row(static_cast<std::size_t>(reader.padded()));
      for (Index i = task * kRowsPerTask; i < std::min(count, (task + 1) * kRowsPerTask); ++i) {
        reader.read(panels.row_at(first + i), row.data());
        std::transform(row.data(), row.data() + d, staging.data() + i * d, [](double v) { return static_cast<T>(v); });
      }
    });
    stream.copy_in(to.data() + first * d, staging.data(), static_cast<std::size_t>(count) * row_bytes);
    stream.wait();
  }
  return to;
}

}  // namespace

std::uint32_t CudaSegment::position_of(std::int64_t id) const noexcept {
  const Index row = id - host->rows.first_id;
  if (id < 0 || row < 0 || row >= host->rows.rows) return cuda::kNoPosition;
  const std::vector<Index>& rows = host->row_of_position;
  if (rows.empty()) return static_cast<std::uint32_t>(row);
  const auto at = std::ranges::lower_bound(rows, row);
  return at != rows.end() && *at == row ? static_cast<std::uint32_t>(at - rows.begin()) : cuda::kNoPosition;
}

std::unique_ptr<CudaSegment> upload_segment(const std::shared_ptr<cuda::Device>& device, const prepare::RowReader& reader,
                                            std::unique_ptr<prepare::Panels> panels, core::Executor& executor) {
  auto segment = std::make_unique<CudaSegment>();
  const auto stream = device->stream();
  segment->panels = uploaded(device, *stream, panels->panels.data(), panels->panels.size());
  segment->bias = uploaded(device, *stream, panels->bias.data(), panels->bias.size());
  panels->panels = {};  // packed memory was pageable: the copies are through
  panels->bias = {};
  if (!panels->row_of_position.empty()) {
    const std::vector<std::uint32_t> rows(panels->row_of_position.begin(), panels->row_of_position.end());
    segment->row_of_position = uploaded(device, *stream, rows.data(), rows.size());
  }
  const RowSet& rows = reader.rows();
  if (reader.unit_rows() || !prepare::narrows_exactly(rows.dtype)) {
    segment->rows_f64 = upload_rows<double>(device, *stream, reader, *panels, executor);
  } else if (lies_as_floats(rows) && panels->row_of_position.empty()) {
    segment->rows_f32 = uploaded(device, *stream, reinterpret_cast<const float*>(rows.data), static_cast<std::size_t>(rows.rows * rows.cols));
  } else {
    segment->rows_f32 = upload_rows<float>(device, *stream, reader, *panels, executor);
  }
  stream->wait();
  segment->host = std::move(panels);
  return segment;
}

}  // namespace tessera::engine
