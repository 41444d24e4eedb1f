// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda_tensor.hpp"

#include <algorithm>

#include "kernels/cuda/shapes.hpp"
#include "kernels/cuda/tensor_params.hpp"

namespace tessera::engine {
namespace {

using cuda::KernelId;
using cuda::panels_of;

constexpr Index kPanel = cuda::kPanel;
constexpr Index kRowsPerTask = 256;
constexpr Index kMostSpan = 16;  // chosen: by then the queries' share of what is read is a few per cent

KernelId kernel_of(prepare::TensorType type, bool resident) noexcept {
  if (type == prepare::TensorType::bf16) return resident ? KernelId::tensor_bf16 : KernelId::tensor_bf16_wide;
  return resident ? KernelId::tensor_int8 : KernelId::tensor_int8_wide;
}

/// The largest terms of every tile's rows, and of all.
void fill_terms(const prepare::TensorRows& rows, prepare::Panels& positions) {
  const Index tile = positions.tile_cols;
  positions.tile_terms.clear();
  positions.all_terms = {};
  for (Index first = 0; first < positions.count; first += tile) {
    positions.tile_terms.push_back(rows.largest(first, std::min(positions.count, first + tile)));
    prepare::take_maxima(positions.all_terms, positions.tile_terms.back());
  }
}

}  // namespace

std::unique_ptr<CudaTensorBase> upload_tensor_base(const std::shared_ptr<cuda::Device>& device, const prepare::RowReader& reader, const prepare::Narrowing& narrowing,
                                                   prepare::Panels& positions, core::Executor& executor) {
  prepare::TensorRows rows(narrowing, reader.kernels(), positions.count);
  executor.run((positions.count + kRowsPerTask - 1) / kRowsPerTask, [&](Index task, int) {
    prepare::TensorRows::Scratch scratch(reader.padded());
    support::AlignedBuffer<double> row(static_cast<std::size_t>(reader.padded()));
    for (Index i = task * kRowsPerTask; i < std::min(positions.count, (task + 1) * kRowsPerTask); ++i) {
      reader.read(positions.row_at(i), row.data());
      rows.put_base(i, row.data(), scratch);
    }
  });
  fill_terms(rows, positions);

  auto base = std::make_unique<CudaTensorBase>();
  const auto stream = device->stream();
  const auto columns = static_cast<std::size_t>(panels_of(positions.count) * kPanel);
  base->panels = uploaded(device, *stream, reinterpret_cast<const unsigned char*>(rows.panels()), rows.panel_bytes());
  base->bias = uploaded(device, *stream, rows.bias(), columns);
  base->residual = uploaded(device, *stream, rows.residual(), columns);
  base->scale = uploaded(device, *stream, rows.scale(), columns);
  base->count = positions.count;
  base->chunks = rows.chunks();
  stream->wait();  // the rows go
  return base;
}

CudaTensorQueries::CudaTensorQueries(const prepare::Narrowing& narrowing, const kernels::CpuKernels& kernels, Index rows, Index padded)
    : type_(narrowing.int8 ? prepare::TensorType::int8 : prepare::TensorType::bf16), rows_(narrowing, kernels, rows), scratch_(padded) {}

const prepare::NarrowedRow& CudaTensorQueries::put(Index r, const double* row) {
  rows_.put_query(r, row, scratch_);
  return rows_.row(r);
}

void CudaTensorQueries::upload(const std::shared_ptr<cuda::Device>& device, CudaLane& lane, Index rows) const {
  const auto bytes = static_cast<std::size_t>(panels_of(rows) * rows_.chunks()) * cuda::kPanelChunkBytes;
  lane.tensor_rows.reserve(device, bytes);
  lane.tensor_factor.reserve(device, static_cast<std::size_t>(rows));
  lane.tensor_reach.reserve(device, static_cast<std::size_t>(rows));
  lane.stream->copy_in(lane.tensor_rows.data(), rows_.panels(), bytes);
  lane.stream->copy_in(lane.tensor_factor.data(), rows_.factor(), static_cast<std::size_t>(rows) * sizeof(float));
  lane.stream->copy_in(lane.tensor_reach.data(), rows_.reach(), static_cast<std::size_t>(rows) * sizeof(float));
}

void CudaTensorQueries::launch(CudaLane& lane, const cuda::RowArrays& arrays, const CudaTensorBase& base, core::Range cols, Index rows, int multiprocessors) const {
  const Index row_panels = panels_of(rows);
  const Index column_panels = panels_of(cols.size());
  // Queries and thresholds are read once a span. Four rounds of two blocks a multiprocessor still share the work evenly.
  const Index blocks = Index{8} * std::max(multiprocessors, 1);
  const Index span = std::clamp<Index>(column_panels * row_panels / blocks, 1, kMostSpan);
  const auto first = static_cast<std::uint32_t>(cols.first / kPanel);
  const cuda::TensorParams params{.queries = lane.tensor_rows.data(),
                                  .base = base.panels.data(),
                                  .bias = base.bias.data(),
                                  .col_residual = base.residual.data(),
                                  .col_scale = base.scale.data(),
                                  .row_factor = lane.tensor_factor.data(),
                                  .row_reach = lane.tensor_reach.data(),
                                  .arrays = arrays,
                                  .first_panel = first,
                                  .last_panel = first + static_cast<std::uint32_t>(column_panels),
                                  .span = static_cast<std::uint32_t>(span),
                                  .columns = static_cast<std::uint32_t>(base.count),
                                  .chunks = static_cast<std::uint32_t>(base.chunks)};
  const bool resident = cuda::tensor_resident(params.chunks);
  const cuda::LaunchShape shape{.grid_x = static_cast<std::uint32_t>((column_panels + span - 1) / span),
                                .grid_y = static_cast<std::uint32_t>(row_panels),
                                .block_x = cuda::kTensorThreads,
                                .shared_bytes = cuda::tensor_shared(resident, params.chunks)};
  lane.stream->launch(kernel_of(type_, resident), shape, &params);
}

}  // namespace tessera::engine
