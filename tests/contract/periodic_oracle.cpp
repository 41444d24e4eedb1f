// SPDX-License-Identifier: Apache-2.0
#include "contract/periodic_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

namespace tessera::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Vector = std::array<double, 3>;

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
double norm(const Vector& a) { return std::sqrt(dot(a, a)); }

double component(const std::vector<double>& row, std::size_t c) { return c < row.size() ? row[c] : 0.0; }

/// The dual basis of the periodic rows: n_a = v . dual_a for v in their span. Zero for open rows. By Gauss on the Gram matrix.
std::array<Vector, 3> dual_of(const Cell& cell) {
  std::array<std::array<double, 6>, 3> m{};
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b) m[a][b] = cell.pbc[a] && cell.pbc[b] ? dot(cell.rows[a], cell.rows[b]) : a == b ? 1.0 : 0.0;
    m[a][3 + a] = 1;
  }
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t a = 0; a < 3; ++a) {
      if (a == p) continue;
      const double factor = m[a][p] / m[p][p];
      for (std::size_t c = 0; c < 6; ++c) m[a][c] -= factor * m[p][c];
    }
  }
  std::array<Vector, 3> dual{};
  for (std::size_t a = 0; a < 3; ++a) {
    if (!cell.pbc[a]) continue;
    for (std::size_t b = 0; b < 3; ++b) {
      if (!cell.pbc[b]) continue;
      for (std::size_t c = 0; c < 3; ++c) dual[a][c] += m[a][3 + b] / m[a][a] * cell.rows[b][c];
    }
  }
  return dual;
}

struct Span {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Shifts n for which the image may lie within radius: |n_a + v . dual_a| <= radius |dual_a|, and a margin for rounding.
std::array<Span, 3> spans(const Cell& cell, const Vector& v, double radius) {
  const std::array<Vector, 3> dual = dual_of(cell);
  std::array<Span, 3> span;
  for (std::size_t a = 0; a < 3; ++a) {
    if (!cell.pbc[a]) continue;
    const double middle = -dot(v, dual[a]);
    const double reach = radius * norm(dual[a]) + 1e-3;
    span[a] = {static_cast<std::int64_t>(std::ceil(middle - reach)), static_cast<std::int64_t>(std::floor(middle + reach))};
  }
  return span;
}

Vector difference(const std::vector<double>& x, const std::vector<double>& y) {
  Vector r;
  for (std::size_t c = 0; c < 3; ++c) r[c] = component(y, c) - component(x, c);
  return r;
}

double moved_key(const Cell& cell, Vector r, const Shift& n) {
  for (std::size_t a = 0; a < 3; ++a) {
    if (!cell.pbc[a]) continue;
    for (std::size_t c = 0; c < 3; ++c) r[c] = std::fma(static_cast<double>(n[a]), cell.rows[a][c], r[c]);
  }
  return std::fma(r[2], r[2], std::fma(r[1], r[1], r[0] * r[0]));
}

template <class Visit>
void visit_shifts(const Cell& cell, const Vector& r, double radius, Visit visit) {
  const auto span = spans(cell, r, radius);
  for (std::int64_t i = span[0].first; i <= span[0].last; ++i) {
    for (std::int64_t j = span[1].first; j <= span[1].last; ++j) {
      for (std::int64_t k = span[2].first; k <= span[2].last; ++k) visit(Shift{i, j, k});
    }
  }
}

/// A radius that holds the nearest image: the distance of some image, a near one for speed: downhill from the rounded shift by single steps.
/// What is orthogonal to the periodic rows is the same for every image, and left out.
double reach_of(const Cell& cell, const Vector& difference) {
  const std::array<Vector, 3> dual = dual_of(cell);
  Vector r{};
  for (std::size_t a = 0; a < 3; ++a) {
    const double along = dot(difference, dual[a]);
    for (std::size_t c = 0; c < 3 && cell.pbc[a]; ++c) r[c] += along * cell.rows[a][c];
  }
  Shift n{};
  for (std::size_t a = 0; a < 3; ++a) n[a] = static_cast<std::int64_t>(std::nearbyint(-dot(r, dual[a])));
  double key = moved_key(cell, r, n);
  for (bool moved = true; moved;) {
    moved = false;
    const Shift from = n;
    for (int step = 0; step < 27; ++step) {
      const Shift to{from[0] + step % 3 - 1, from[1] + step / 3 % 3 - 1, from[2] + step / 9 - 1};
      const double there = moved_key(cell, r, to);
      if (!(there < key)) continue;
      key = there;
      n = to;
      moved = true;
    }
  }
  return std::sqrt(key) * (1 + 1e-9) + 1e-12 * std::sqrt(dot(r, r));
}

}  // namespace

double image_key(const Cell& cell, const std::vector<double>& x, const std::vector<double>& y, const Shift& n) { return moved_key(cell, difference(x, y), n); }

std::vector<Image> images_within(const Cell& cell, const std::vector<double>& x, const std::vector<double>& y, double radius) {
  const Vector r = difference(x, y);
  std::vector<Image> images;
  visit_shifts(cell, r, std::max(radius, 0.0), [&](const Shift& n) {
    const double key = moved_key(cell, r, n);
    if (std::sqrt(key) <= radius) images.push_back({key, n});
  });
  return images;
}

Image nearest_image(const Cell& cell, const std::vector<double>& x, const std::vector<double>& y) {
  const Vector r = difference(x, y);
  Image best{kInfinity, {}};
  visit_shifts(cell, r, reach_of(cell, r), [&](const Shift& n) {
    const double key = moved_key(cell, r, n);
    if (std::tie(key, n) < std::tie(best.key, best.shift)) best = {key, n};
  });
  return best;
}

Answer periodic_knn(const RowSet& queries, const RowSet& base, const Cell& cell, const Question& question) {
  Answer answer{.k = question.k, .ids = {}, .distances = {}};
  struct Ranked {
    int place;
    double key;
    std::int64_t id;
    auto tie() const { return std::tie(place, key, id); }
  };
  for (Index q = 0; q < queries.rows; ++q) {
    const auto x = read_row(queries, q, Metric::l2);
    std::vector<Ranked> ranked;
    for (Index i = 0; i < base.rows; ++i) {
      const bool same = question.self != SelfMode::none && queries.first_id + q == base.first_id + i;
      if (same && question.self == SelfMode::exclude) continue;
      ranked.push_back({same && question.self == SelfMode::first ? 0 : 1, nearest_image(cell, x, read_row(base, i, Metric::l2)).key, base.first_id + i});
    }
    std::ranges::sort(ranked, [](const Ranked& a, const Ranked& b) { return a.tie() < b.tie(); });
    for (Index j = 0; j < question.k; ++j) {
      const bool real = j < std::ssize(ranked);
      answer.ids.push_back(real ? ranked[static_cast<std::size_t>(j)].id : -1);
      answer.distances.push_back(real ? std::sqrt(ranked[static_cast<std::size_t>(j)].key) : kInfinity);
    }
  }
  return answer;
}

Cell random_cell(std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  Cell cell;
  const auto kind = random() % 6;
  const double size = std::exp(6 * (unit(random) - 0.5));
  double edge[3];
  for (double& e : edge) e = size * (kind == 4 ? std::exp(4 * (unit(random) - 0.5)) : 0.5 + unit(random));
  cell.rows = {{{edge[0], 0, 0}, {0, edge[1], 0}, {0, 0, edge[2]}}};
  if (kind == 1 || kind == 4) {  // mild
    for (auto [a, b] : {std::pair{1, 0}, {2, 0}, {2, 1}}) cell.rows[a][b] = (2 * unit(random) - 1) * std::min(edge[a], edge[b]);
  } else if (kind == 2) {  // an angle down to 10 degrees
    const double angle = (10 + 50 * unit(random)) * std::numbers::pi / 180;
    cell.rows[1] = {edge[1] * std::cos(angle), edge[1] * std::sin(angle), 0};
    const double other = (10 + 160 * unit(random)) * std::numbers::pi / 180;
    cell.rows[2] = {edge[2] * std::cos(other), 0, edge[2] * std::sin(other)};
  } else if (kind == 3) {  // tilts of up to five edges
    for (auto [a, b] : {std::pair{1, 0}, {2, 0}, {2, 1}}) cell.rows[a][b] = 5 * (2 * unit(random) - 1) * edge[b];
  } else if (kind == 5) {  // lattices with ties: all of one length
    const double e = std::round(8 * edge[0] / size) + 1;
    const std::array<std::array<double, 3>, 3> shapes[] = {{{{e, e, 0}, {e, 0, e}, {0, e, e}}}, {{{-e, e, e}, {e, -e, e}, {e, e, -e}}}, {{{e, 0, 0}, {e, e, 0}, {0, 0, e}}}};
    cell.rows = shapes[random() % 3];
  }
  if (random() % 2 == 0 && kind != 5) {  // turned anyhow
    const double a = 7 * unit(random), b = 7 * unit(random);
    for (auto& r : cell.rows) {
      r = {r[0] * std::cos(a) - r[1] * std::sin(a), r[0] * std::sin(a) + r[1] * std::cos(a), r[2]};
      r = {r[0], r[1] * std::cos(b) - r[2] * std::sin(b), r[1] * std::sin(b) + r[2] * std::cos(b)};
    }
  }
  if (random() % 3 == 0) std::swap(cell.rows[0], cell.rows[1]);  // left-handed
  if (random() % 3 == 0) {
    for (std::size_t a = 0; a < 3; ++a) {
      cell.pbc[a] = random() % 2 == 0;
      if (!cell.pbc[a] && random() % 2 == 0) cell.rows[a] = {0, 0, 0};
    }
  }
  return cell;
}

testing::Matrix random_points(const Cell& cell, Index rows, double spread, std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  testing::Matrix m = testing::zeros(rows, 3);
  for (Index i = 0; i < rows; ++i) {
    const bool on_grid = random() % 4 == 0;  // faces, corners, halves
    for (std::size_t a = 0; a < 3; ++a) {
      const double f = on_grid ? 0.5 * static_cast<double>(random() % 7) - 1 : spread * (unit(random) - 0.5);
      for (std::size_t c = 0; c < 3; ++c) m.row(i)[c] += f * (cell.rows[a] == std::array<double, 3>{} ? (a == c ? 1.0 : 0.0) : cell.rows[a][c]);
    }
  }
  return m;
}

}  // namespace tessera::oracle
