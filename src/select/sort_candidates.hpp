// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/candidate.hpp"

namespace tessera::select {

/// Sorts by (key, id). Keys are not NaN.
/// scratch  as large as the candidates; what it holds afterwards means nothing.
/// cost     two passes over the leading bits of long lists' keys, then whatever those leave open; O(n log n) at worst.
void sort_candidates(std::span<core::Candidate> candidates, std::span<core::Candidate> scratch) noexcept;

}  // namespace tessera::select
