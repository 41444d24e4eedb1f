// SPDX-License-Identifier: Apache-2.0
// Here: arrays of a container put together as ragged rows, one a distribution. Not here: how the arrays are read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/container.hpp"
#include "io/input.hpp"

namespace tessera::io {

/// Reads one array of a container as [n, 1] or [n, d].
using ReadMember = std::function<Decoded(const std::string& name)>;

/// Whether a container holds ragged rows: arrays `values` and `offsets`.
bool holds_ragged(const std::vector<ArrayEntry>& arrays) noexcept;

/// values [n], offsets [m + 1] integers from 0 to n, optional weights [n], optional shape [2] = rows and cols of a grid of m cells.
/// throws   Error{malformed_input} naming the array and the entry that does not fit.
Decoded read_ragged(const Input& input, const std::vector<ArrayEntry>& arrays, const ReadMember& read);

/// The places of arr_0, arr_1, ... (numpy.savez without names) in their order, when they are all there is, 1-D, and more than one.
std::optional<std::vector<std::size_t>> find_numbered(const std::vector<ArrayEntry>& arrays);

/// One 1-D array a distribution; of one type, or else all widened to float64.
/// throws   Error{malformed_input}: an integer that float64 does not hold.
Decoded join_arrays(const Input& input, std::size_t count, const std::function<Decoded(std::size_t)>& read);

}  // namespace tessera::io
