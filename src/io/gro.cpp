// SPDX-License-Identifier: Apache-2.0
// GROMACS .gro: a title, a count, atoms in fixed columns (positions from column 20 on, in nm), the box; frames follow each other.
#include "io/format.hpp"
#include "io/structure.hpp"

namespace tessera::io {

namespace {

constexpr std::size_t kPositions = 20;  // residue number and name, atom name and number: five characters each

/// Width of a number: from one decimal point to the next; precision is free in this format.
std::size_t width_of(const Input& input, const Lines& lines, std::string_view line) {
  const std::size_t first = line.find('.', kPositions);
  const std::size_t second = first == std::string_view::npos ? first : line.find('.', first + 1);
  if (second == std::string_view::npos) fail_line(input, lines, "no two decimal points after column {}; wanted three positions in fixed columns", kPositions);
  return second - first;
}

void read_atom(const Input& input, const Lines& lines, std::string_view line, Structure& out) {
  const std::size_t width = width_of(input, lines, line);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::string_view field = fixed_field(line, kPositions + c * width, width);
    const auto value = number_in(field);
    if (!value) fail_line(input, lines, "'{}' is not a position", shown(field));
    out.points.push_back(*value);
  }
}

/// v1x v2y v3z, then v1y v1z v2x v2z v3x v3y where the box is not rectangular.
std::optional<Cell> cell_of(const Input& input, const Lines& lines, std::string_view line) {
  const auto fields = fields_of(line);
  if (fields.size() != 3 && fields.size() != 9) fail_line(input, lines, "a box of {} numbers, wanted 3 or 9", fields.size());
  double v[9] = {};
  read_numbers(input, lines, fields, 0, {v, fields.size()});
  if (fields.size() == 3) return cell_or_none(input, lines, {v, 3});
  const double rows[9] = {v[0], v[3], v[4], v[5], v[1], v[6], v[7], v[8], v[2]};
  return cell_or_none(input, lines, rows);
}

bool read_frame(const Input& input, Lines& lines, Index frame, Structure* out) {
  std::string_view line;
  if (!lines.next(line)) return false;
  if (!lines.next(line)) {
    if (trimmed(line).empty()) return false;
    fail_ended(input, frame);
  }
  const std::int64_t count = read_count(input, lines, line);
  for (std::int64_t i = 0; i < count; ++i) {
    line = next_line(input, lines, frame);
    if (out != nullptr) read_atom(input, lines, line, *out);
  }
  line = next_line(input, lines, frame);
  if (out != nullptr) out->cell = cell_of(input, lines, line);
  return true;
}

Decoded read_gro(const Input& input) { return decoded_frame(input, read_frame); }

constexpr Format kFormats[] = {{.name = "gro", .suffixes = {".gro"}, .read = read_gro}};

}  // namespace

std::span<const Format> gro_formats() noexcept { return kFormats; }

}  // namespace tessera::io
