// SPDX-License-Identifier: Apache-2.0
// LAMMPS data files: a header with counts, bounds and tilts, then sections; the section Atoms has a position a line. Rows are in the order of
// the file, which need not be that of the atoms' ids.
#include "io/format.hpp"
#include "io/structure.hpp"

namespace tessera::io {

namespace {

struct Style {
  std::string_view name;
  std::size_t column;  // of x
};

constexpr Style kStyles[] = {{"atomic", 2}, {"angle", 3},  {"bond", 3},   {"charge", 3}, {"molecular", 3}, {"full", 4},
                             {"dipole", 3}, {"sphere", 4}, {"ellipsoid", 4}, {"spin", 2},   {"template", 5}};

class LammpsData {
 public:
  explicit LammpsData(const Input& input) : input_(input), lines_(as_text(input.bytes)) {}

  Structure read() {
    std::string_view line;
    lines_.next(line);  // the first line is a comment, whatever it holds
    while (lines_.next(line)) {
      const std::string_view words = trimmed(line.substr(0, line.find('#')));
      if (words.empty()) continue;
      if (words == "Atoms") {
        read_atoms(line.find('#') != std::string_view::npos ? trimmed(line.substr(line.find('#') + 1)) : std::string_view{});
        break;
      }
      read_header(fields_of(words));
    }
    out_.cell = cell_;
    return std::move(out_);
  }

 private:
  void read_header(const std::vector<std::string_view>& f) {
    if (f.size() == 2 && f[1] == "atoms") {
      atoms_ = read_count(input_, lines_, f[0]);
    } else if (f.size() == 4 && f[2].ends_with("lo") && f[3].ends_with("hi") && f[2].size() == 3) {
      const std::size_t axis = static_cast<std::size_t>(f[2][0] - 'x');
      double bounds[2];
      read_numbers(input_, lines_, f, 0, bounds);
      if (axis > 2) fail_line(input_, lines_, "bounds of '{}', wanted x, y or z", shown(f[2]));
      cell_.rows[axis][axis] = bounds[1] - bounds[0];
    } else if (f.size() == 6 && f[3] == "xy" && f[4] == "xz" && f[5] == "yz") {
      double tilts[3];
      read_numbers(input_, lines_, f, 0, tilts);
      cell_.rows[1][0] = tilts[0];
      cell_.rows[2][0] = tilts[1];
      cell_.rows[2][1] = tilts[2];
    } else if (f.size() >= 2 && f.back() == "abc") {
      fail_line(input_, lines_, "general triclinic data (avec, bvec, cvec); write restricted triclinic data instead");
    }
  }

  void read_atoms(std::string_view style) {
    if (atoms_ < 0) fail_line(input_, lines_, "the section Atoms before the line 'N atoms'");
    std::size_t column = 0;
    for (std::int64_t i = 0; i < atoms_;) {
      const std::string_view line = next_line(input_, lines_, 0);
      const auto fields = fields_of(line.substr(0, line.find('#')));
      if (fields.empty()) continue;
      if (i == 0) column = column_of(style, fields.size());
      double point[3];
      read_numbers(input_, lines_, fields, column, point);
      out_.points.insert(out_.points.end(), point, point + 3);
      ++i;
    }
  }

  /// By the style, which LAMMPS writes behind Atoms; else by the number of fields, with or without three image flags.
  std::size_t column_of(std::string_view style, std::size_t fields) const {
    for (const Style& known : kStyles) {
      if (style == known.name) return known.column;
    }
    if (!style.empty() && count_in(style.substr(0, 1)) == std::nullopt) {
      fail_line(input_, lines_, "atom style '{}' is not known here; wanted atomic, charge, molecular, full or a kin", shown(style));
    }
    if (fields >= 5 && fields <= 7) return fields - 3;
    if (fields >= 8 && fields <= 10) return fields - 6;
    fail_line(input_, lines_, "{} fields an atom: which are x y z? Write the atom style behind the word Atoms, as in 'Atoms # full'", fields);
  }

  const Input& input_;
  Lines lines_;
  std::int64_t atoms_ = -1;
  Cell cell_;
  Structure out_;
};

Decoded read_lammps(const Input& input) {
  if (input.frame != 0) fail_no_frame(input, 1);
  return decoded_structure(input, LammpsData(input).read());
}

constexpr Format kFormats[] = {{.name = "lammps", .suffixes = {".lmp", ".lammps", ".data"}, .read = read_lammps}};

}  // namespace

std::span<const Format> lammps_formats() noexcept { return kFormats; }

}  // namespace tessera::io
