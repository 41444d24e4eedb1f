// SPDX-License-Identifier: Apache-2.0
// From a cell's numbers to its row vectors. Whether the rows span anything is for metrics/lattice.hpp to find out.
#include "tessera/cell.hpp"

#include <charconv>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "support/fail.hpp"

namespace tessera {
namespace {

using support::fail;

constexpr double kDegree = std::numbers::pi / 180;

/// Cosine of an angle in degrees; a right angle is exact.
double cosine(double degrees) { return degrees == 90 ? 0.0 : std::cos(degrees * kDegree); }
double sine(double degrees) { return degrees == 90 ? 1.0 : std::sin(degrees * kDegree); }

void check_lengths(std::span<const double> lengths) {
  for (const double length : lengths) {
    if (!(length > 0)) fail(ErrorCode::invalid_argument, "cell: the edge length {} is not positive", length);
  }
}

Cell box(std::span<const double> lengths) {
  check_lengths(lengths);
  Cell cell{.rows = {}, .pbc = {false, false, false}};
  for (std::size_t a = 0; a < lengths.size(); ++a) {
    cell.rows[a][a] = lengths[a];
    cell.pbc[a] = true;
  }
  return cell;
}

/// The convention of crystallography, and of ASE: a along x, b in the xy plane.
Cell from_angles(std::span<const double> n) {
  check_lengths(n.first(3));
  for (const double angle : n.last(3)) {
    if (!(angle > 0 && angle < 180)) fail(ErrorCode::invalid_argument, "cell: the angle {} is not between 0 and 180 degrees", angle);
  }
  const double x = cosine(n[4]);
  const double y = (cosine(n[3]) - cosine(n[4]) * cosine(n[5])) / sine(n[5]);
  const double z2 = 1 - x * x - y * y;
  if (!(z2 > 0)) {
    fail(ErrorCode::invalid_argument, "cell: no cell has the angles {}, {}, {}: wanted each below the sum of the other two, and a sum below 360 degrees", n[3],
         n[4], n[5]);
  }
  Cell cell;
  cell.rows[0] = {n[0], 0, 0};
  cell.rows[1] = {n[1] * cosine(n[5]), n[1] * sine(n[5]), 0};
  cell.rows[2] = {n[2] * x, n[2] * y, n[2] * std::sqrt(z2)};
  return cell;
}

bool separates(char c) noexcept { return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r' || c == ';'; }

}  // namespace

Cell make_cell(std::span<const double> n) {
  for (const double value : n) {
    if (!std::isfinite(value)) fail(ErrorCode::invalid_argument, "cell: {} is not a finite number", value);
  }
  Cell cell;
  switch (n.size()) {
    case 1:
    case 2:
    case 3: return box(n);
    case 4:
      cell.rows = {{{n[0], n[1], 0}, {n[2], n[3], 0}, {0, 0, 0}}};
      cell.pbc = {true, true, false};
      return cell;
    case 6: return from_angles(n);
    case 9:
      cell.rows = {{{n[0], n[1], n[2]}, {n[3], n[4], n[5]}, {n[6], n[7], n[8]}}};
      return cell;
    default:
      fail(ErrorCode::invalid_argument,
           "cell: {} numbers, wanted 3 (edge lengths), 6 (a b c and the angles alpha beta gamma) or 9 (three row vectors); 1, 2 or 4 for points of one or two columns",
           n.size());
  }
}

Cell parse_cell(std::string_view text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    while (at != end && separates(*at)) ++at;
    if (at == end) break;
    const char* word_end = at;
    while (word_end != end && !separates(*word_end)) ++word_end;
    double value = 0;
    const auto [rest, status] = std::from_chars(at + (*at == '+' ? 1 : 0), word_end, value);
    if (status != std::errc{} || rest != word_end) {
      fail(ErrorCode::invalid_argument, "cell: '{}' is not a number; wanted 3, 6 or 9 numbers separated by blanks or commas", std::string(at, word_end));
    }
    numbers.push_back(value);
    at = word_end;
  }
  return make_cell(numbers);
}

std::array<bool, 3> parse_pbc(std::string_view text) {
  std::array<bool, 3> pbc{};
  std::size_t count = 0;
  for (const char c : text) {
    if (separates(c)) continue;
    const bool yes = c == 'T' || c == 't' || c == '1';
    if (count == 3 || !(yes || c == 'F' || c == 'f' || c == '0')) count = 4;
    if (count > 3) break;
    pbc[count++] = yes;
  }
  if (count != 3) fail(ErrorCode::invalid_argument, "pbc '{}': wanted three letters T or F, one for each row of the cell, such as TTF", text);
  return pbc;
}

}  // namespace tessera
