// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/export.hpp"

namespace tessera {

/// A cell that repeats in space: its edge vectors, and along which of them it repeats. A plain value.
///
/// rows     edge vectors, one a row, in the units of the coordinates; left-handed is as good as right-handed. The row of an open
///          axis is ignored and may be zero. Points of one or two columns use the first one or two components.
/// pbc      true: space repeats along this row.
struct Cell {
  std::array<std::array<double, 3>, 3> rows{};
  std::array<bool, 3> pbc{true, true, true};
  bool operator==(const Cell&) const = default;
};

/// A cell from its numbers, periodic along every row it has.
///
/// numbers  1, 2 or 3 edge lengths of a rectangular box of so many dimensions; 4: two row vectors of a plane;
///          6: a b c alpha beta gamma, angles in degrees, a along x and b in the xy plane; 9: three row vectors.
///          An angle of exactly 90 degrees gives exact zeros.
/// throws   Error{invalid_argument}: another count, a number that is not finite, a length that is not positive, angles that no cell has.
TESSERA_API Cell make_cell(std::span<const double> numbers);

/// As make_cell(), from text: numbers separated by blanks, commas or line ends.
TESSERA_API Cell parse_cell(std::string_view text);

/// Three letters T or F, "TTF": along which rows space repeats. Also 1 and 0, with blanks or commas between them.
/// throws   Error{invalid_argument} for anything else.
TESSERA_API std::array<bool, 3> parse_pbc(std::string_view text);

/// The most columns periodic points may have.
inline constexpr int kMostPeriodicCols = 3;

}  // namespace tessera
