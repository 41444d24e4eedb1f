// SPDX-License-Identifier: Apache-2.0
// VASP POSCAR and CONTCAR: a comment, a scale, three lattice rows, species (optional), counts, "Selective dynamics" (optional), Direct or
// Cartesian, positions.
#include <cmath>

#include "io/format.hpp"
#include "io/structure.hpp"

namespace tessera::io {

namespace {

/// Takes lines and knows how to complain when there is none.
class Poscar {
 public:
  explicit Poscar(const Input& input) : input_(input), lines_(as_text(input.bytes)) {}

  Structure read() {
    next();  // comment
    read_cell();
    const std::int64_t atoms = read_counts();
    std::string_view line = trimmed(next());
    if (line.starts_with('S') || line.starts_with('s')) line = trimmed(next());
    const bool cartesian = !line.empty() && std::string_view("cCkK").find(line[0]) != std::string_view::npos;
    if (!cartesian && !line.starts_with('D') && !line.starts_with('d')) fail_line(input_, lines_, "'{}', wanted Direct or Cartesian", shown(line));
    for (std::int64_t i = 0; i < atoms; ++i) read_atom(cartesian);
    out_.cell = cell_;
    return std::move(out_);
  }

 private:
  std::string_view next() { return next_line(input_, lines_, 0); }

  void read_cell() {
    const auto fields = fields_of(next());
    double scale[3] = {1, 1, 1};
    const bool three = fields.size() >= 3 && number_in(fields[1]) && number_in(fields[2]);  // one scale an axis
    read_numbers(input_, lines_, fields, 0, {scale, three ? std::size_t{3} : std::size_t{1}});
    if (!three) scale[1] = scale[2] = scale[0];
    for (auto& row : cell_.rows) read_numbers(input_, lines_, fields_of(next()), 0, row);
    if (scale[0] < 0 && !three) {  // the volume that is wanted
      const auto& r = cell_.rows;
      const double volume = std::abs(r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1]) - r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0]) +
                                     r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]));
      scale[0] = scale[1] = scale[2] = std::cbrt(-scale[0] / volume);
    }
    for (std::size_t c = 0; c < 3; ++c) {
      scale_[c] = scale[c];
      for (auto& row : cell_.rows) row[c] *= scale[c];
    }
  }

  std::int64_t read_counts() {
    auto fields = fields_of(next());
    if (!fields.empty() && !number_in(fields[0])) fields = fields_of(next());  // that line named the species
    std::int64_t atoms = 0;
    for (const std::string_view field : fields) {
      const auto count = count_in(field);
      if (!count || *count > kMostAtoms - atoms) {
        if (atoms > 0 && !count) break;  // a comment behind the counts
        fail_line(input_, lines_, "'{}' is not a number of atoms", shown(field));
      }
      atoms += *count;
    }
    return atoms;
  }

  void read_atom(bool cartesian) {
    double p[3];
    read_numbers(input_, lines_, fields_of(next()), 0, p);
    for (std::size_t c = 0; c < 3; ++c) {
      const auto& r = cell_.rows;
      out_.points.push_back(cartesian ? p[c] * scale_[c] : p[0] * r[0][c] + p[1] * r[1][c] + p[2] * r[2][c]);
    }
  }

  static constexpr std::int64_t kMostAtoms = std::int64_t{1} << 40;  // past any file; keeps sums from overflowing

  const Input& input_;
  Lines lines_;
  Cell cell_;
  double scale_[3] = {1, 1, 1};
  Structure out_;
};

Decoded read_poscar(const Input& input) {
  if (input.frame != 0) fail_no_frame(input, 1);
  return decoded_structure(input, Poscar(input).read());
}

constexpr Format kFormats[] = {{.name = "poscar", .suffixes = {".vasp", "poscar", "contcar"}, .read = read_poscar}};

}  // namespace

std::span<const Format> poscar_formats() noexcept { return kFormats; }

}  // namespace tessera::io
