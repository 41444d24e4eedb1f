// SPDX-License-Identifier: Apache-2.0
// Here: periodic distances from docs/numerics.md alone: every lattice vector that could matter, tried one by one, without any reduction.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "contract/oracle.hpp"
#include "support/data.hpp"
#include "tessera/cell.hpp"

namespace tessera::oracle {

using Shift = std::array<std::int64_t, 3>;

struct Image {
  double key = 0;  // squared
  Shift shift{};
};

/// The canonical squared distance of y's image n from x; rows shorter than 3 end in zeros.
double image_key(const Cell& cell, const std::vector<double>& x, const std::vector<double>& y, const Shift& n);

/// All images of y within `radius` of x (rounding apart), and at least the nearest, in no order.
std::vector<Image> images_within(const Cell& cell, const std::vector<double>& x, const std::vector<double>& y, double radius);

/// The nearest image; the lexicographically smallest shift of those that tie.
Image nearest_image(const Cell& cell, const std::vector<double>& x, const std::vector<double>& y);

Answer periodic_knn(const RowSet& queries, const RowSet& base, const Cell& cell, const Question& question);

/// Random cells of every temper: rectangular, mild, skewed to 10 degrees, tilted by up to five edges, flat, rotated, left-handed; any pbc.
Cell random_cell(std::mt19937_64& random);

/// Points in and around the cell, and some of them on its faces and at halves of its edges.
testing::Matrix random_points(const Cell& cell, Index rows, double spread, std::mt19937_64& random);

}  // namespace tessera::oracle
