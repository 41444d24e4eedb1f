// SPDX-License-Identifier: Apache-2.0
// Here: top-K of query panels over a pruned segment, where every row is plain: screened, bounded, few columns.
// Not here: rows that need care, which go through cpu_topk.hpp; boxes and the walk (prepare/block_tree.hpp).
#pragma once

#include <memory>

#include "core/backend.hpp"
#include "engine/cpu_topk.hpp"

namespace tessera::engine {

/// Whether this worker exists for the inputs: a pruned segment whose rows are kept exactly (Panels::exact).
bool has_near_topk(const CpuTopkInputs& inputs) noexcept;

/// A panel with a row that has no bound, or with lists to carry on from, or with more ties than its buffers hold, is passed to a worker of make_cpu_topk_worker.
std::unique_ptr<core::TopkWorker> make_near_topk_worker(const CpuTopkInputs& inputs);

}  // namespace tessera::engine
