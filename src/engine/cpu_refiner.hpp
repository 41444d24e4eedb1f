// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "engine/canonical_pair.hpp"
#include "engine/cpu_topk.hpp"
#include "metrics/bound.hpp"
#include "select/row_state.hpp"

namespace tessera::engine {

/// Computes canonical keys of one query row against base rows of the segment.
class CpuRefiner final : public select::Refiner {
 public:
  explicit CpuRefiner(const CpuTopkInputs& in)
      : traits_(in.traits), panels_(in.panels), reader_(in.kernels, in.panels.rows, in.traits.unit_rows),
        pair_(in.kernels, in.traits, in.lattice), z_scale_(in.narrowing != nullptr ? in.narrowing->bound.z_scale : 1.0),
        z_cap_(metrics::float_down(in.traits.z_cap * z_scale_)),
        base_row_(static_cast<std::size_t>(reader_.padded())) {}

  void set_query(const double* row) noexcept { query_ = row; }

  void keys(std::span<const select::Pending> pairs, core::Candidate* out) override {
    // Rows lie where the caller put them: they are asked for together, then come from the cache.
    for (const select::Pending& p : pairs) __builtin_prefetch(panels_.rows.row(panels_.row_at(p.position)));
    for (const select::Pending& p : pairs) *out++ = {key(p.position), panels_.id_at(p.position)};
    refined_ += std::ssize(pairs);
  }
  float z_above(double key) const noexcept override { return metrics::float_up(traits_.z_of_key(key) * z_scale_); }
  float widest(float z) const noexcept override { return z >= z_cap_ ? std::numeric_limits<float>::infinity() : z; }

  double key(Index position) noexcept {
    reader_.read(panels_.row_at(position), base_row_.data());
    return pair_.key(query_, base_row_.data(), reader_.padded());
  }
  double key_to_itself() noexcept { return pair_.key(query_, query_, reader_.padded()); }

  std::int64_t refined() const noexcept { return refined_; }

 private:
  const metrics::MetricTraits& traits_;
  const prepare::Panels& panels_;
  prepare::RowReader reader_;
  CanonicalPair pair_;
  double z_scale_;
  float z_cap_;
  support::AlignedBuffer<double> base_row_;
  const double* query_ = nullptr;
  std::int64_t refined_ = 0;
};

}  // namespace tessera::engine
