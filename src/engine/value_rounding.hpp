// SPDX-License-Identifier: Apache-2.0
// Here: canonical values on their way into float16, for every evaluator.
#pragma once

#include "support/fail.hpp"
#include "tessera/rows.hpp"

namespace tessera::engine {

[[noreturn]] inline void fail_past_half(Index batch, Index row, Index col, double value) {
  support::fail(ErrorCode::malformed_input, "entry ({}{}, {}) is {:g}, past float16's largest, 65504: use float32",
                batch > 0 ? fmt::format("{}, ", batch) : "", row, col, value);
}

}  // namespace tessera::engine
