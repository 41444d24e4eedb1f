// SPDX-License-Identifier: Apache-2.0
// Here: how a full matrix is cut and walked, from sizes alone. Not here: anything that runs.
#pragma once

#include "core/values.hpp"

namespace tessera::engine {

struct ValuesWishes {
  Index tile_rows = 0;  // 0: chosen
  Index tile_cols = 0;
  Index shards = 1;
  int threads = 1;
  std::uint64_t memory = 0;  // bytes, resolved
};

/// throws   Error{out_of_memory} when not even the smallest tile and one panel of columns fit.
core::ValuesPlan plan_values(const core::ValuesProblem& problem, const core::ValuesCosts& costs, const ValuesWishes& wishes);

}  // namespace tessera::engine
