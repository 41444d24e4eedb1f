// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tessera/rows.hpp"

namespace tessera::select {

/// The value that would stand at `rank` were the values sorted. Reorders and overwrites them. None is NaN.
///
/// cost  a few passes, whatever the values; from a few hundred values on several times faster than std::nth_element, whose branches on
///       random values are guesses.
float nth_smallest(std::span<float> values, Index rank) noexcept;

}  // namespace tessera::select
