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

/// The file ended within a frame.
[[noreturn]] void fail_ended(const Input& input, Index frame);
/// The file holds whole frames, but fewer than were asked for.
[[noreturn]] void fail_no_frame(const Input& input, Index frames);

/// The next line.
/// throws   Error{malformed_input} (fail_ended) when there is none.
std::string_view next_line(const Input& input, Lines& lines, Index frame);

/// A line's only field, a number of atoms.
std::int64_t read_count(const Input& input, const Lines& lines, std::string_view line);

/// Reads frames one after the other up to the one that was asked for. read takes null to skip a frame, and returns false at the end of
/// the file.
Decoded decoded_frame(const Input& input, bool (*read)(const Input&, Lines&, Index frame, Structure*));

/// Characters [first, first + width) of a line of fixed columns, as far as it reaches, without blanks around them.
std::string_view fixed_field(std::string_view line, std::size_t first, std::size_t width);

/// A cell of lengths and angles; none where the numbers are no cell's (all zero, or PDB's 1 1 1 90 90 90).
std::optional<Cell> cell_or_none(const Input& input, const Lines& lines, std::span<const double> numbers);

}  // namespace tessera::io
