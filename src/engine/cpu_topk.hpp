// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/backend.hpp"
#include "kernels/cpu/contract.hpp"
#include "metrics/traits.hpp"
#include "prepare/fold.hpp"
#include "prepare/panels.hpp"

namespace tessera::engine {

/// All a worker needs; everything outlives it.
struct CpuTopkInputs {
  const kernels::CpuKernels& kernels;
  const metrics::MetricTraits& traits;
  const metrics::Lattice* lattice;      // null unless traits.nearest_image
  const prepare::Narrowing* narrowing;  // null: double screen
  const prepare::Fold* fold;            // of periodic fp32 screens, else null
  const prepare::Panels& panels;
  const RowSet& base;                   // the whole base, of which panels is a segment
  const std::vector<Index>& denied;     // rows of the whole base that are left out
  const core::QueryProblem& queries;
  bool pruned;
  Index tile_rows;
};

/// A worker's array of so many elements.
template <class T>
support::AlignedBuffer<T> buffer(Index size) {
  return support::AlignedBuffer<T>(static_cast<std::size_t>(size));
}

std::unique_ptr<core::TopkWorker> make_cpu_topk_worker(const CpuTopkInputs& inputs);

}  // namespace tessera::engine
