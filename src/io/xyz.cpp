// SPDX-License-Identifier: Apache-2.0
// xyz and extended xyz: a count, a comment that may hold Lattice="...", pbc="..." and Properties=..., an atom a line; frames follow each other.
#include "io/format.hpp"
#include "io/structure.hpp"

namespace tessera::io {

namespace {

/// The value of key="..." or key=... in an extended xyz comment; empty without one.
std::string_view value_of(std::string_view comment, std::string_view key) {
  const std::string text = lower(comment);
  const std::string wanted = lower(key) + "=";
  for (std::size_t at = 0; (at = text.find(wanted, at)) != std::string::npos; ++at) {
    if (at > 0 && comment[at - 1] != ' ' && comment[at - 1] != '\t') continue;
    std::string_view rest = comment.substr(at + key.size() + 1);
    if (rest.starts_with('"') || rest.starts_with('\'')) return rest.substr(1, rest.find(rest[0], 1) - 1);
    return rest.substr(0, rest.find_first_of(kLineBlanks));
  }
  return {};
}

/// The first column of pos: fields are name:type:columns, in threes.
std::size_t position_column(const Input& input, const Lines& lines, std::string_view properties) {
  if (properties.empty()) return 1;  // species x y z
  std::vector<std::string_view> words;
  for (std::size_t start = 0; start <= properties.size();) {
    const std::size_t end = std::min(properties.find(':', start), properties.size());
    words.push_back(properties.substr(start, end - start));
    start = end + 1;
  }
  std::size_t column = 0;
  for (std::size_t i = 0; i + 2 < words.size(); i += 3) {
    const auto count = count_in(words[i + 2]);
    if (!count || *count > 1000) fail_line(input, lines, "Properties gives '{}' columns to {}", shown(words[i + 2]), shown(words[i]));
    if (words[i] == "pos") {
      if (*count != 3) fail_line(input, lines, "Properties gives pos {} columns, wanted 3", *count);
      return column;
    }
    column += static_cast<std::size_t>(*count);
  }
  fail_line(input, lines, "Properties has no pos:R:3");
}

std::optional<Cell> cell_of(const Input& input, const Lines& lines, std::string_view comment) {
  const std::string_view lattice = value_of(comment, "Lattice");
  if (lattice.empty()) return std::nullopt;
  if (const auto numbers = fields_of(lattice).size(); numbers != 9) fail_line(input, lines, "a Lattice of {} numbers, wanted the cell's 9", numbers);
  try {
    Cell cell = parse_cell(lattice);
    if (const std::string_view pbc = value_of(comment, "pbc"); !pbc.empty()) cell.pbc = parse_pbc(pbc);
    return cell;
  } catch (const Error& error) {
    fail_line(input, lines, "{}", error.what());
  }
}

/// One frame; null positions to skip it. Returns false at the end of the file.
bool read_frame(const Input& input, Lines& lines, Index frame, Structure* out) {
  std::string_view line;
  do {
    if (!lines.next(line)) return false;
  } while (trimmed(line).empty());
  const std::int64_t count = read_count(input, lines, line);
  const std::string_view comment = next_line(input, lines, frame);
  const std::size_t column = out != nullptr ? position_column(input, lines, value_of(comment, "Properties")) : 0;
  if (out != nullptr) out->cell = cell_of(input, lines, comment);
  for (std::int64_t i = 0; i < count; ++i) {
    line = next_line(input, lines, frame);
    if (out == nullptr) continue;
    double point[3];
    read_numbers(input, lines, fields_of(line), column, point);
    out->points.insert(out->points.end(), point, point + 3);
  }
  return true;
}

Decoded read_xyz(const Input& input) { return decoded_frame(input, read_frame); }

constexpr Format kFormats[] = {{.name = "xyz", .suffixes = {".xyz", ".extxyz"}, .read = read_xyz}};

}  // namespace

std::span<const Format> xyz_formats() noexcept { return kFormats; }

}  // namespace tessera::io
