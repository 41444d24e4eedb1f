// SPDX-License-Identifier: Apache-2.0
#include "metrics/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/reduction.hpp"
#include "support/fail.hpp"

namespace tessera::metrics {
namespace {

using support::fail;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargestPoint = 0x1p500;      // as for every metric
constexpr double kLargestEdge = 0x1p100;       // fourth powers of edges stay far inside double's range
constexpr double kMostCellsAway = 0x1p24;      // see largest_value
constexpr double kNoComponent = 0x1p-45;       // of a vector's length: rounding of the frame, taken for zero
// Folding in fp32 may leave a component this much past half the brick, relatively; the list must hold there too.
constexpr double kBrickMargin = 0x1p-12;
// Near ties of points far outside: twice their rounding times the brick's diagonal, at kMostCellsAway (numerics.md).
constexpr double kTieMargin = 0x1p-9;

double norm(const Vector3& v) { return std::sqrt(dot(v, v)); }

std::vector<Vector3> periodic_rows(const Cell& cell, Index cols, std::vector<int>& numbers) {
  std::vector<Vector3> rows;
  for (int a = 0; a < 3; ++a) {
    const auto& row = cell.rows[static_cast<std::size_t>(a)];
    if (!cell.pbc[static_cast<std::size_t>(a)]) continue;
    for (int c = 0; c < 3; ++c) {
      const double value = row[static_cast<std::size_t>(c)];
      if (!(std::abs(value) <= kLargestEdge)) fail(ErrorCode::invalid_argument, "cell: row {} holds {}, wanted a finite number up to 2^100", a, value);
      if (c >= cols && value != 0) {
        fail(ErrorCode::invalid_argument, "cell: periodic row {} has component {} = {}, but the points have {} column{}: wanted 0 there, or pbc F for the row", a,
             c, value, cols, cols == 1 ? "" : "s");
      }
    }
    rows.push_back(row);
    numbers.push_back(a);
  }
  return rows;
}

/// v less its parts along the first `count` unit vectors; twice, for accuracy.
Vector3 orthogonal_part(Vector3 v, const std::array<Vector3, 3>& units, int count) {
  for (int pass = 0; pass < 2; ++pass) {
    for (int q = 0; q < count; ++q) {
      const auto& unit = units[static_cast<std::size_t>(q)];
      const double along = dot(v, unit);
      for (std::size_t c = 0; c < 3; ++c) v[c] -= along * unit[c];
    }
  }
  return v;
}

Vector3 unit_of(const Vector3& v) {
  const double length = norm(v);
  return {v[0] / length, v[1] / length, v[2] / length};
}

/// Gram and Schmidt on the reduced rows; then whichever axes are least covered.
std::array<Vector3, 3> make_frame(const ReducedBasis& basis, int rank) {
  std::array<Vector3, 3> units{};
  for (int a = 0; a < rank; ++a) units[static_cast<std::size_t>(a)] = unit_of(orthogonal_part(basis.rows[static_cast<std::size_t>(a)], units, a));
  for (int a = rank; a < 3; ++a) {
    Vector3 best{};
    for (std::size_t c = 0; c < 3; ++c) {
      Vector3 axis{};
      axis[c] = 1;
      const Vector3 part = orthogonal_part(axis, units, a);
      if (dot(part, part) > dot(best, best) + 0x1p-20) best = part;
    }
    units[static_cast<std::size_t>(a)] = unit_of(best);
  }
  return units;
}

/// Takes whole earlier rows off later ones, so that no component exceeds half the earlier row's own: the brick and the lattice stay.
void size_reduce(Lattice& l) {
  for (int a = 1; a < l.rank; ++a) {
    for (int b = a - 1; b >= 0; --b) {
      const double k = std::nearbyint(l.brick[a][b] / l.brick[b][b]);
      for (int c = 0; c < 3; ++c) {
        l.brick[a][c] -= k * l.brick[b][c];
        l.to_cell[a][c] -= k * l.to_cell[b][c];
      }
    }
  }
}

bool crosses(const Lattice& l, int a) {
  for (int b = 0; b < l.rank; ++b) {
    if (b != a && (l.brick[a][b] != 0 || l.brick[b][a] != 0)) return true;
  }
  return false;
}

LatticeImage image_of(const Lattice& l, const double (&steps)[3]) {
  LatticeImage image{.t = {0, 0, 0}, .norm2 = 0, .steps = {steps[0], steps[1], steps[2]}};
  for (int c = 0; c < 3; ++c) {
    for (int a = 0; a < l.rank; ++a) image.t[c] += steps[a] * l.brick[a][c];
    image.norm2 += image.t[c] * image.t[c];
  }
  return image;
}

/// Visits whole-number combinations of brick rows, the last row's number first. room(a, t, left) says what is left of a quantity once axis
/// a has the component t; below zero, the combination is of no use. Past the middle, room must shrink with |t|.
template <class Room, class Visit>
void walk(const Lattice& l, int a, double (&steps)[3], double left, const Room& room, const Visit& visit) {
  if (a < 0) return visit(image_of(l, steps));
  double offset = 0;
  for (int b = a + 1; b < l.rank; ++b) offset += steps[b] * l.brick[b][a];
  const double middle = std::nearbyint(-offset / l.brick[a][a]);
  for (const int direction : {1, -1}) {
    for (double k = middle + (direction < 0 ? -1 : 0);; k += direction) {
      const double rest = room(a, offset + k * l.brick[a][a], left);
      if (rest >= 0) {
        steps[a] = k;
        walk(l, a - 1, steps, rest, room, visit);
      } else if (k != middle) {
        break;
      }
    }
  }
  steps[a] = 0;
}

/// The axis of the last step that is not zero.
int last_axis(const LatticeImage& image) {
  int a = 2;
  while (image.steps[a] == 0) --a;
  return a;
}

/// Lists every t with sum_a |t_a| (L_aa - |t_a|) >= 0, less margins. For others no folded w has |w + t| near or below |w|.
void list_images(Lattice& l) {
  double diagonal2 = 0;
  double most = 0;
  const auto bump = [&](int a) { return 0.25 * (l.brick[a][a] * (1 + kBrickMargin)) * (l.brick[a][a] * (1 + kBrickMargin)); };
  for (int a = 0; a < l.rank; ++a) {
    diagonal2 += l.brick[a][a] * l.brick[a][a];
    most += bump(a);  // what |t_a| (L_aa - |t_a|) is at most
  }
  // What is left: the sum over the axes that are fixed, and the most that the others can add.
  const auto room = [&](int a, double t, double left) { return left - bump(a) + std::abs(t) * (l.brick[a][a] * (1 + kBrickMargin) - std::abs(t)); };
  const auto visit = [&](const LatticeImage& image) {
    if (image.norm2 == 0) return;
    l.near.push_back(image);
    // Along an axis that is orthogonal to all others folding is best already.
    for (int a = 0; a < l.rank; ++a) {
      if (image.steps[a] != 0 && !crosses(l, a)) return;
    }
    if (image.steps[last_axis(image)] > 0) l.shorter.push_back(image);
  };
  double steps[3] = {0, 0, 0};
  if (l.rank > 0) walk(l, l.rank - 1, steps, most + kTieMargin * l.smallest_edge * std::sqrt(diagonal2), room, visit);
}

void set_sizes(Lattice& l, const Vector3& shortest_row) {
  l.smallest_edge = kInfinity;
  l.shortest = kInfinity;
  l.largest_value = kLargestPoint;
  double reach = 1;
  for (int a = 0; a < l.rank; ++a) {
    l.smallest_edge = std::min(l.smallest_edge, l.brick[a][a]);
    l.inverse[a] = 1 / l.brick[a][a];
    for (int b = 0; b < 3; ++b) l.span[a] += std::abs(l.to_cell[a][b]) * norm({l.cell[b][0], l.cell[b][1], l.cell[b][2]});
    reach += l.span[a] / l.brick[a][a];
  }
  if (l.rank == 0) return;
  l.largest_value = kMostCellsAway * l.smallest_edge / reach;
  for (int a = 0; a < l.rank; ++a) {
    if (!(l.span[a] < l.largest_value)) fail(ErrorCode::invalid_argument, "cell: too skewed or too flat to be worked with: give the same lattice by shorter row vectors");
  }
  for (const LatticeImage& image : vectors_within(l, norm(shortest_row) * (1 + 0x1p-20))) {
    if (image.norm2 > 0) l.shortest = std::min(l.shortest, std::sqrt(image.norm2));
  }
}

/// Visits the steps that fold a difference of two points in the brick, |d_a| <= L_aa, axis by axis from the last. They end within kBrickMargin of the
/// brick, where the list holds: exact halves need not be taken both ways.
template <class Visit>
void walk_folds(const Lattice& l, int a, double (&steps)[3], const Visit& visit) {
  if (a < 0) return visit(steps);
  double offset = 0;
  for (int b = a + 1; b < l.rank; ++b) offset += steps[b] * l.brick[b][a];
  const double spread = 1 - 0.25 * kBrickMargin;
  const double middle = offset * l.inverse[a];
  for (double k = std::nearbyint(-spread - middle); k <= std::nearbyint(spread - middle); ++k) {
    steps[a] = k;
    walk_folds(l, a - 1, steps, visit);
  }
  steps[a] = 0;
}

/// Whether t can lead from one point in the brick to within half the brick's diagonal of another: no nearest image is farther.
bool reaches(const Lattice& l, const LatticeImage& image) {
  double diagonal2 = 0;
  double gap2 = 0;
  for (int a = 0; a < l.rank; ++a) {
    const double gap = std::max(0.0, std::abs(image.t[a]) - l.brick[a][a] * (1 + kBrickMargin));
    diagonal2 += l.brick[a][a] * l.brick[a][a];
    gap2 += gap * gap;
  }
  return gap2 <= 0.25 * diagonal2 * (1 + 4 * kBrickMargin);
}

}  // namespace

std::vector<LatticeImage> images_between(const Lattice& lattice) {
  std::vector<std::array<double, 3>> found;
  const auto add = [&](const double (&steps)[3], const double (&more)[3]) { found.push_back({steps[0] + more[0], steps[1] + more[1], steps[2] + more[2]}); };
  double steps[3] = {0, 0, 0};
  walk_folds(lattice, lattice.rank - 1, steps, [&](const double (&folds)[3]) {
    add(folds, {0, 0, 0});
    for (const LatticeImage& image : lattice.shorter) {
      add(folds, image.steps);
      add(folds, {-image.steps[0], -image.steps[1], -image.steps[2]});
    }
  });
  const auto size = [](const std::array<double, 3>& s) { return std::abs(s[0]) + std::abs(s[1]) + std::abs(s[2]); };
  std::ranges::sort(found, [&](const auto& a, const auto& b) { return size(a) != size(b) ? size(a) < size(b) : a < b; });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<LatticeImage> out;
  for (const auto& s : found) {
    const LatticeImage image = image_of(lattice, {s[0], s[1], s[2]});
    if (reaches(lattice, image)) out.push_back(image);
  }
  return out;
}

std::vector<LatticeImage> vectors_within(const Lattice& lattice, double radius) {
  std::vector<LatticeImage> found;
  double steps[3] = {0, 0, 0};
  const auto room = [](int, double t, double left) { return left - t * t; };
  walk(lattice, lattice.rank - 1, steps, radius * radius, room, [&](const LatticeImage& image) { found.push_back(image); });
  return found;
}

std::shared_ptr<const Lattice> make_lattice(const Cell& cell, Index cols) {
  if (cols > kMostPeriodicCols && cols != kPlacedCols) {
    fail(ErrorCode::invalid_argument, "periodic distances are for points of 1 to 3 columns, these have {}", cols);
  }
  std::vector<int> numbers;
  const std::vector<Vector3> rows = periodic_rows(cell, cols, numbers);
  const ReducedBasis basis = reduce_basis(rows);
  auto lattice = std::make_shared<Lattice>();
  Lattice& l = *lattice;
  l.rank = static_cast<int>(rows.size());
  const std::array<Vector3, 3> units = make_frame(basis, l.rank);
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t c = 0; c < 3; ++c) l.frame[a][c] = units[a][c];
  }
  for (std::size_t a = 0; a < rows.size(); ++a) {
    const auto number = static_cast<std::size_t>(numbers[a]);
    for (std::size_t c = 0; c < 3; ++c) l.cell[number][c] = rows[a][c];
    for (std::size_t b = 0; b <= a; ++b) {
      const double component = dot(basis.rows[a], units[b]);
      l.brick[a][b] = std::abs(component) > kNoComponent * norm(basis.rows[a]) ? component : 0;
    }
    for (std::size_t b = 0; b < rows.size(); ++b) l.to_cell[a][numbers[b]] = static_cast<double>(basis.steps[a][b]);
  }
  size_reduce(l);
  set_sizes(l, basis.rows[0]);
  l.orthogonal = true;
  for (int a = 0; a < l.rank; ++a) l.orthogonal = l.orthogonal && !crosses(l, a);
  list_images(l);
  if (cols == kPlacedCols) {
    l.placed = true;
    l.orthogonal = true;
    l.rank = 0;
    l.smallest_edge = l.shortest = kInfinity;
    l.largest_value = kLargestPoint;
    std::fill_n(l.inverse, 3, 0.0);
    l.near.clear();
    l.shorter.clear();
  }
  l.near_images = l.near.data();
  l.near_count = std::ssize(l.near);
  l.shorter_images = l.shorter.data();
  l.shorter_count = std::ssize(l.shorter);
  return lattice;
}

}  // namespace tessera::metrics
