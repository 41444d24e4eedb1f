// SPDX-License-Identifier: Apache-2.0
#include "prepare/tensor_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cuda/tensor_layout.hpp"
#include "prepare/panels.hpp"
#include "support/float16.hpp"

namespace tessera::prepare {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Index panels_of(Index rows) noexcept { return (rows + cuda::kTensorPanel - 1) / cuda::kTensorPanel; }

std::size_t row_bytes(const Narrowing& narrowing) noexcept {
  return static_cast<std::size_t>(narrowing.depth) * (narrowing.int8 ? sizeof(float) : sizeof(std::uint16_t));
}

template <class T>
support::AlignedBuffer<T> filled(std::size_t size, T value) {
  support::AlignedBuffer<T> buffer(size);
  std::fill(buffer.begin(), buffer.end(), value);
  return buffer;
}

}  // namespace

Narrowing choose_tensor_narrowing(const RowReader& reader, const metrics::MetricTraits& traits, TensorType type, const cuda::TensorArch* arch,
                                  double bound_inflation) {
  Narrowing n = choose_narrowing(reader, traits, type == TensorType::int8 ? Screen::int8 : Screen::fp32_dot, bound_inflation);
  if (type == TensorType::bf16) {
    const double gamma = cuda::kTensorAllowance * cuda::tensor_model_gamma(*arch, reader.rows().cols);
    n.bound = metrics::make_tensor_context(n.bound, gamma);
  }
  return n;
}

NarrowedRow narrow_to_bf16(const NarrowedRow& row, const float* narrowed, Index padded, std::uint16_t* out) noexcept {
  return rounded_to_bf16(row, round_to_bf16(narrowed, padded, out));
}

TensorRows::TensorRows(const Narrowing& narrowing, const kernels::CpuKernels& kernels, Index rows)
    : narrowing_(narrowing), kernels_(kernels), rows_(rows), chunks_(static_cast<Index>(cuda::tensor_chunks(row_bytes(narrowing)))),
      panels_(filled(static_cast<std::size_t>(panels_of(rows) * chunks_) * cuda::kPanelChunkBytes, std::byte{0})),
      bias_(filled(static_cast<std::size_t>(panels_of(rows)) * cuda::kTensorPanel, kInfinity)),
      residual_(filled(bias_.size(), 0.0F)), scale_(filled(bias_.size(), 0.0F)), info_(static_cast<std::size_t>(rows)) {}

void TensorRows::put_base(Index at, const double* row, Scratch& scratch) {
  const NarrowedRow info = narrow_base_row(narrowing_, kernels_, row, scratch.padded, scratch.narrowed.data());
  put(at, info, scratch, false);
}

void TensorRows::put_query(Index at, const double* row, Scratch& scratch) {
  const NarrowedRow info = narrow_query_row(narrowing_, kernels_, row, scratch.padded, scratch.narrowed.data());
  if (narrowing_.int8) {  // CPUs multiply unsigned by signed
    auto* bytes = reinterpret_cast<unsigned char*>(scratch.narrowed.data());
    for (Index t = 0; t < scratch.padded; ++t) bytes[t] = static_cast<unsigned char>(bytes[t] - kernels_.int8_levels);
  }
  put(at, info, scratch, true);
}

void TensorRows::put(Index at, const NarrowedRow& row, Scratch& scratch, bool query) {
  const auto i = static_cast<std::size_t>(at);
  NarrowedRow info = row;
  const auto* bytes = reinterpret_cast<const std::byte*>(scratch.narrowed.data());
  if (!narrowing_.int8) {
    info = narrow_to_bf16(row, scratch.narrowed.data(), scratch.padded, scratch.halves.data());
    if (row.bypass) std::fill(scratch.halves.begin(), scratch.halves.end(), support::bfloat16_of(static_cast<double>(kNan)));
    bytes = reinterpret_cast<const std::byte*>(scratch.halves.data());
  }
  info_[i] = info;
  const std::size_t size = row_bytes(narrowing_);
  std::byte* panel = panels_.data() + static_cast<std::size_t>(at / cuda::kTensorPanel * chunks_) * cuda::kPanelChunkBytes;
  for (std::size_t byte = 0; byte < size; byte += cuda::kPieceBytes) {
    const auto piece = static_cast<unsigned>(byte % cuda::kChunkBytes / cuda::kPieceBytes);
    std::byte* to = panel + byte / cuda::kChunkBytes * cuda::kPanelChunkBytes + cuda::tensor_piece(static_cast<unsigned>(at % cuda::kTensorPanel), piece);
    std::memcpy(to, bytes + byte, std::min<std::size_t>(cuda::kPieceBytes, size - byte));
  }
  // NaN survives every comparison, so a row without a bound is always computed exactly.
  const float unit = row.bypass ? kNan : narrowing_.int8 ? row.step : 1.0F;
  if (query) {
    scale_[i] = narrowing_.factor * unit;
    residual_[i] = row.bypass ? kNan : metrics::score_reach(narrowing_.bound, info.terms);
  } else {
    scale_[i] = unit;
    residual_[i] = metrics::float_up(info.terms.residual);
    bias_[i] = narrowing_.bound.form == metrics::BoundForm::dot_squared ? static_cast<float>(info.terms.norm2) : 0.0F;
  }
}

metrics::RowTerms TensorRows::largest(Index first, Index last) const noexcept {
  metrics::RowTerms most;
  for (Index i = first; i < last; ++i) {
    if (!row(i).bypass) take_maxima(most, row(i).terms);
  }
  return most;
}

}  // namespace tessera::prepare
