// SPDX-License-Identifier: Apache-2.0
// Here: what readers of atoms share: points with a cell, and their complaints. Not here: any format.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "io/input.hpp"
#include "io/text_lines.hpp"
#include "support/fail.hpp"
#include "tessera/cell.hpp"

namespace tessera::io {

/// Positions [n, 3] in the file's own unit, and the cell, where the file has one.
struct Structure {
  std::vector<double> points;
  std::optional<Cell> cell;
};

/// The rows asked for.
/// throws   Error{malformed_input} when there is no atom.
Decoded decoded_structure(const Input& input, Structure structure);

/// Reads the fields first .. first + out.size() - 1 as numbers.
/// throws   Error{malformed_input} naming the line.
void read_numbers(const Input& input, const Lines& lines, std::span<const std::string_view> fields, std::size_t first, std::span<double> out);

/// Fails with the file and the line.
template <class... Args>
[[noreturn]] void fail_line(const Input& input, const Lines& lines, fmt::format_string<Args...> text, Args&&... args) {
  support::fail(ErrorCode::malformed_input, "'{}' line {}: {}", input.name, lines.number(), fmt::format(text, std::forward<Args>(args)...));
}

/// The file ended before the frame that was asked for, or within it.
[[noreturn]] void fail_frame(const Input& input, Index frames);

/// A cell of lengths and angles; none where the numbers are no cell's (all zero, or PDB's 1 1 1 90 90 90).
std::optional<Cell> cell_or_none(const Input& input, const Lines& lines, std::span<const double> numbers);

}  // namespace tessera::io
