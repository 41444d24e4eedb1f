// SPDX-License-Identifier: Apache-2.0
// Here: guessing what a mistyped word was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// The word nearest to `typed` by edit distance; "" when none is within a third of its length.
std::string closest_word(std::string_view typed, const std::vector<std::string>& words);

}  // namespace tessera::cli
