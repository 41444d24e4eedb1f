// SPDX-License-Identifier: Apache-2.0
#include "io/structure.hpp"

#include <algorithm>
#include <memory>

#include "io/layout.hpp"
#include "io/looks_like.hpp"

namespace tessera::io {

Decoded decoded_structure(const Input& input, Structure structure) {
  if (structure.points.empty()) support::fail(ErrorCode::malformed_input, "'{}': no atom; wanted at least one{}", input.name, looks_like(input.bytes, input.format).text);
  auto values = std::make_shared<const std::vector<double>>(std::move(structure.points));
  const Index rows = static_cast<Index>(values->size()) / 3;
  return {.rows = take_range(input, dense(values->data(), rows, 3)), .file_rows = rows, .owner = values, .cell = structure.cell};
}

void read_numbers(const Input& input, const Lines& lines, std::span<const std::string_view> fields, std::size_t first, std::span<double> out) {
  if (fields.size() < first + out.size()) fail_line(input, lines, "{} fields, wanted at least {}", fields.size(), first + out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto value = number_in(fields[first + i]);
    if (!value) fail_line(input, lines, "'{}' is not a number", shown(fields[first + i]));
    out[i] = *value;
  }
}

void fail_ended(const Input& input, Index frame) {
  support::fail(ErrorCode::malformed_input, "'{}' ends within its frame {}; fetch or write it again{}", input.name, frame, looks_like(input.bytes, input.format).text);
}

void fail_no_frame(const Input& input, Index frames) {
  if (frames == 0) fail_ended(input, 0);
  support::fail(ErrorCode::invalid_argument, "'{}' has {} frame{}, frame {} was asked for: wanted 0 to {}", input.name, frames, frames == 1 ? "" : "s", input.frame, frames - 1);
}

std::string_view next_line(const Input& input, Lines& lines, Index frame) {
  std::string_view line;
  if (!lines.next(line)) fail_ended(input, frame);
  return line;
}

std::int64_t read_count(const Input& input, const Lines& lines, std::string_view line) {
  const auto count = count_in(trimmed(line));
  if (!count) fail_line(input, lines, "'{}' is not a number of atoms", shown(trimmed(line)));
  return *count;
}

Decoded decoded_frame(const Input& input, bool (*read)(const Input&, Lines&, Index frame, Structure*)) {
  Lines lines(as_text(input.bytes));
  Structure structure;
  for (Index frame = 0; frame <= input.frame; ++frame) {
    if (!read(input, lines, frame, frame == input.frame ? &structure : nullptr)) fail_no_frame(input, frame);
  }
  return decoded_structure(input, std::move(structure));
}

std::string_view fixed_field(std::string_view line, std::size_t first, std::size_t width) {
  return first < line.size() ? trimmed(line.substr(first, width)) : std::string_view{};
}

std::optional<Cell> cell_or_none(const Input& input, const Lines& lines, std::span<const double> numbers) {
  const bool zero = std::ranges::all_of(numbers, [](double v) { return v == 0; });
  constexpr std::array<double, 6> kNoCell = {1, 1, 1, 90, 90, 90};
  if (zero || std::ranges::equal(numbers, kNoCell)) return std::nullopt;
  try {
    return make_cell(numbers);
  } catch (const Error& error) {
    fail_line(input, lines, "{}", error.what());
  }
}

}  // namespace tessera::io
