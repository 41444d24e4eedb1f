// SPDX-License-Identifier: Apache-2.0
// Here: a search of a set in itself on the CPU that screens each pair of rows once. Not here: who meets whom, and when (run.hpp).
#pragma once

#include <memory>

#include "core/backend.hpp"
#include "engine/cpu_topk.hpp"

namespace tessera::engine {

/// What one row keeps for the whole search, packed once more as a query included.
std::uint64_t symmetric_row_bytes(Index k, Index depth) noexcept;

/// inputs.queries are the rows of inputs.panels, first places being positions; the screen has a dot form.
std::unique_ptr<core::SymmetricSearch> make_symmetric_topk(const CpuTopkInputs& inputs);

}  // namespace tessera::engine
