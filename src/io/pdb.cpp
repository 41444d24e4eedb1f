// SPDX-License-Identifier: Apache-2.0
// PDB: CRYST1, ATOM and HETATM records in fixed columns, MODEL records for frames. Only what positions and the cell need; every alternate
// location is a row.
#include "io/format.hpp"
#include "io/structure.hpp"

namespace tessera::io {

namespace {

double column(const Input& input, const Lines& lines, std::string_view line, std::size_t first, std::size_t width, std::string_view what) {
  const std::string_view field = fixed_field(line, first, width);
  const auto value = number_in(field);
  if (!value) fail_line(input, lines, "'{}' in columns {} to {} is not {}", shown(field), first + 1, first + width, what);
  return *value;
}

std::optional<Cell> cell_of(const Input& input, const Lines& lines, std::string_view line) {
  constexpr std::size_t kFirst[6] = {6, 15, 24, 33, 40, 47};
  double numbers[6];
  for (std::size_t i = 0; i < 6; ++i) numbers[i] = column(input, lines, line, kFirst[i], i < 3 ? 9 : 7, "a number of the cell");
  return cell_or_none(input, lines, numbers);
}

Decoded read_pdb(const Input& input) {
  Lines lines(as_text(input.bytes));
  Structure structure;
  Index frame = 0;
  bool in_frame = false;  // of a MODEL, or of atoms without one
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with("CRYST1")) {
      structure.cell = cell_of(input, lines, line);
    } else if (line.starts_with("ENDMDL")) {
      if (in_frame && frame++ == input.frame) break;
      in_frame = false;
    } else if (line.starts_with("ATOM  ") || line.starts_with("HETATM")) {
      in_frame = true;
      if (frame != input.frame) continue;
      for (const std::size_t first : {30, 38, 46}) structure.points.push_back(column(input, lines, line, first, 8, "a coordinate"));
    }
  }
  if (structure.points.empty() && input.frame > 0) fail_no_frame(input, frame + (in_frame ? 1 : 0));
  return decoded_structure(input, std::move(structure));
}

constexpr Format kFormats[] = {{.name = "pdb", .suffixes = {".pdb", ".ent"}, .read = read_pdb}};

}  // namespace

std::span<const Format> pdb_formats() noexcept { return kFormats; }

}  // namespace tessera::io
