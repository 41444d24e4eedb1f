// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/backend.hpp"
#include "engine/cuda_lane.hpp"
#include "engine/cuda_segment.hpp"
#include "kernels/cpu/contract.hpp"

namespace tessera::engine {

/// All a worker needs; everything outlives it.
struct CudaTopkInputs {
  LanePool& lanes;
  const kernels::CpuKernels& kernels;   // of the host, for rows on their way
  const metrics::MetricTraits& traits;
  const prepare::Narrowing* narrowing;  // null: double screen
  const CudaSegment& segment;
  const RowSet& base;                   // the whole base, of which segment is a part
  const std::vector<Index>& denied;     // rows of the whole base that are left out
  const core::QueryProblem& queries;
  Index tile_rows;
  Index hits = 0;                       // CudaCapacity::for_k
  int multiprocessors = 1;
};

std::unique_ptr<core::TopkWorker> make_cuda_topk_worker(const CudaTopkInputs& inputs);

}  // namespace tessera::engine
