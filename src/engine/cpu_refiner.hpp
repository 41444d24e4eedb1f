// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/canonical_pair.hpp"
#include "engine/cpu_topk.hpp"
#include "metrics/key_form.hpp"
#include "select/row_state.hpp"

namespace tessera::engine {

/// Computes canonical keys of one query row against base rows of the segment.
class CpuRefiner final : public select::Refiner {
 public:
  explicit CpuRefiner(const CpuTopkInputs& in)
      : traits_(in.traits), panels_(in.panels), reader_(in.kernels, in.panels.rows, in.traits.unit_rows),
        pair_(in.kernels, in.traits, in.lattice), scale_(in.traits, in.narrowing != nullptr ? in.narrowing->bound.z_scale : 1.0),
        stored_sum_(!in.traits.nearest_image && stored_as_floats(reader_) ? in.kernels.canonical_f32[static_cast<int>(in.traits.canonical)] : nullptr),
        base_row_(static_cast<std::size_t>(reader_.padded())),
        ahead_(static_cast<std::size_t>(std::clamp<Index>(kPrefetchBytes / std::max<Index>(1, reader_.rows().cols * reader_.rows().col_stride), 1, kMostAhead))) {}

  void set_query(const double* row) noexcept { query_ = row; }

  void keys(std::span<const select::Pending> pairs, core::Candidate* out) override {
    for (std::size_t i = 0; i < std::min(ahead_, pairs.size()); ++i) prefetch(pairs[i]);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (i + ahead_ < pairs.size()) prefetch(pairs[i + ahead_]);
      const std::uint32_t position = pairs[i].position;
      *out++ = {known(pairs[i]) ? scale_.key_of(pairs[i].lower) : computed_key(position), panels_.id_at(position)};
    }
  }
  float z_above(double key) const noexcept override { return scale_.z_above(key); }
  float widest(float z) const noexcept override { return scale_.widest(z); }

  double key(Index position) noexcept {
    if (stored_sum_ != nullptr) {
      const auto* row = reinterpret_cast<const float*>(panels_.rows.row(panels_.row_at(position)));
      return traits_.key(stored_sum_(query_, row, panels_.rows.cols));
    }
    reader_.read(panels_.row_at(position), base_row_.data());
    return pair_.key(query_, base_row_.data(), reader_.padded());
  }
  double key_to_itself() noexcept { return pair_.key(query_, query_, reader_.padded()); }

  std::int64_t refined() const noexcept { return refined_; }

 private:
  /// Pairs of whole numbers: the score said it all, and no row is read.
  static bool known(const select::Pending& pair) noexcept { return pair.lower == pair.upper; }

  double computed_key(Index position) noexcept {
    ++refined_;
    return key(position);
  }

  /// Floats that a kernel may read where they lie.
  static bool stored_as_floats(const prepare::RowReader& reader) noexcept {
    const RowSet& rows = reader.rows();
    const auto aligned = [](Index bytes) { return bytes % static_cast<Index>(alignof(float)) == 0; };
    return rows.dtype == DType::f32 && !rows.byte_swapped && !reader.unit_rows() && rows.col_stride == static_cast<Index>(sizeof(float)) &&
           aligned(rows.row_stride) && aligned(static_cast<Index>(reinterpret_cast<std::uintptr_t>(rows.data) % alignof(float)));
  }

  /// Survivors lie far apart in memory: the next rows are on their way while one is summed.
  void prefetch(const select::Pending& pair) const noexcept {
    if (known(pair)) return;
    const std::byte* row = panels_.rows.row(panels_.row_at(pair.position));
    const Index bytes = std::min<Index>(panels_.rows.cols * panels_.rows.col_stride, kPrefetchBytes);
    for (Index b = 0; b < bytes; b += kLineBytes) __builtin_prefetch(row + b);
  }

  static constexpr Index kLineBytes = 64;
  static constexpr Index kPrefetchBytes = 4096;  // as many as memory can be busy with at a time, about
  static constexpr Index kMostAhead = 8;
  const metrics::MetricTraits& traits_;
  const prepare::Panels& panels_;
  prepare::RowReader reader_;
  CanonicalPair pair_;
  metrics::KeyScale scale_;
  kernels::StoredCanonicalKernel stored_sum_;  // null: rows are converted first
  support::AlignedBuffer<double> base_row_;
  std::size_t ahead_;  // rows on their way while one is summed
  const double* query_ = nullptr;
  std::int64_t refined_ = 0;
};

}  // namespace tessera::engine
