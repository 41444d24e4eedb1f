// SPDX-License-Identifier: Apache-2.0
// Here: a cell made ready for finding nearest images: reduced, turned to lower-triangular form, with the list of lattice vectors that
// folding into the brick may miss (docs/numerics.md, section 17). Not here: the search for an image (kernels/cpu/generic_periodic.inc).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/cell.hpp"
#include "tessera/rows.hpp"

namespace tessera::metrics {

/// A lattice vector that may bring a folded difference nearer.
struct LatticeImage {
  double t[3];       // in the frame
  double norm2;      // |t|^2
  double steps[3];   // t = sum_a steps[a] * brick row a, whole numbers
};

/// Everything a search needs. The frame is an orthonormal basis in which the reduced lattice vectors are the rows of a lower-triangular
/// matrix; directions in which nothing repeats come last. "Folding" takes whole brick rows off until every component lies within
/// half the brick, |w_a| <= brick[a][a] / 2.
struct Lattice {
  int rank = 0;                 // periodic directions
  double cell[3][3] = {};       // the caller's rows; zero where nothing repeats
  double frame[3][3] = {};      // rows: unit vectors; frame * x = coordinates of x in the frame
  double brick[3][3] = {};      // [rank] reduced lattice vectors in the frame, lower-triangular
  double inverse[3] = {};       // 1 / brick[a][a]; 0 past rank
  double to_cell[3][3] = {};    // brick row a = sum_b to_cell[a][b] * cell row b, whole numbers
  double span[3] = {};          // sum_b |to_cell[a][b]| |cell row b|: what moving by brick row a may cost in rounding
  double smallest_edge = 0;     // min brick[a][a]; +inf when nothing repeats
  double shortest = 0;          // length of the shortest lattice vector; +inf when nothing repeats
  double largest_value = 0;     // coordinates beyond this are refused: their rounding would reach the images' distances
  bool placed = false;          // rows have six columns: a point, then the cells it is moved by; nothing is searched for, and rank is 0
  bool orthogonal = false;      // brick is diagonal: folding alone finds the nearest image
  std::vector<LatticeImage> near;     // every t that may beat or tie a folded difference, t and -t
  const LatticeImage* near_images = nullptr;  // near, as kernels see it: they use no containers
  Index near_count = 0;
  std::vector<LatticeImage> shorter;  // those of them that may beat it by more than rounding, one of t and -t
  const LatticeImage* shorter_images = nullptr;  // shorter, for kernels
  Index shorter_count = 0;

  Lattice() = default;
  Lattice(const Lattice&) = delete;
  Lattice& operator=(const Lattice&) = delete;
};

/// Columns of placed points: position, then whole numbers of cells. For the library itself: callers' points have 1 to 3.
inline constexpr Index kPlacedCols = 6;

/// cols     columns of the points, 1 to 3; periodic rows may have no component past them. kPlacedCols: points that are placed.
/// throws   Error{invalid_argument}: rows not finite, zero or dependent, too skewed; a periodic row that leaves the points' columns.
std::shared_ptr<const Lattice> make_lattice(const Cell& cell, Index cols);

/// Every lattice vector of length at most `radius`, zero included, in no particular order.
std::vector<LatticeImage> vectors_within(const Lattice& lattice, double radius);

/// Lattice vectors t, zero first, one of which makes |q - p + t| the distance from p to the nearest image of q, for any two points p and q in the brick
/// (docs/numerics.md, section 18). At most 45 (1 + 2 shorter.size()).
std::vector<LatticeImage> images_between(const Lattice& lattice);

/// Units of rounding, relative to the sizes it comes from, that a search allows for.
inline constexpr double kImageRounding = 0x1p-40;

}  // namespace tessera::metrics
