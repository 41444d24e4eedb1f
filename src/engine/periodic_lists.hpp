// SPDX-License-Identifier: Apache-2.0
// Here: what finished lists of a periodic search still owe: shifts, and how many neighbours lie past half the cell. Not here: finding them.
#pragma once

#include "core/executor.hpp"
#include "kernels/cpu/contract.hpp"
#include "metrics/lattice.hpp"
#include "tessera/result.hpp"

namespace tessera::engine {

/// Fills report.half_cell and report.beyond_half_cell; with `shifts`, Neighbours::shifts.
///
/// cost     a pass over the lists; with shifts one canonical distance a neighbour.
/// throws   Error{malformed_input} when a shift does not fit 32 bits.
void complete_lists(Neighbours& lists, const RowSet& queries, const RowSet& base, const metrics::Lattice& lattice, bool shifts,
                    const kernels::CpuKernels& kernels, core::Executor& executor);

}  // namespace tessera::engine
