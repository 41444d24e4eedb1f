// SPDX-License-Identifier: Apache-2.0
#include "engine/all_images.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/filter.hpp"
#include "engine/registry.hpp"
#include "engine/session.hpp"
#include "engine/workers.hpp"
#include "metrics/lattice.hpp"
#include "prepare/row_reader.hpp"
#include "prepare/special_rows.hpp"
#include "support/cpu.hpp"
#include "support/fail.hpp"

namespace tessera::engine {
namespace {

using metrics::kPlacedCols;

constexpr double kOutward = 1 + 0x1p-30;  // radii need not be tight
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Points with the cells that bring them into the brick, [n, 6], and where they lie in the frame, [n, 3].
struct Placed {
  std::vector<double> rows;
  std::vector<double> at;
  std::vector<char> good;
  double rounding = 0;  // the largest of any row
  Index count = 0;
};

Placed place(const RowSet& set, const metrics::Lattice& lattice, const core::SpecialRows& special) {
  const kernels::CpuKernels& kernels = select_kernels();
  const prepare::RowReader reader(kernels, set, false);
  Placed out;
  const auto n = static_cast<std::size_t>(set.rows);
  out.rows.resize(n * kPlacedCols);
  out.at.resize(n * 3);
  out.good.assign(n, 1);
  for (const auto* rows : {&special.skipped, &special.denied}) {
    for (const Index row : *rows) out.good[static_cast<std::size_t>(row)] = 0;
  }
  std::vector<double> row(static_cast<std::size_t>(reader.padded()));
  for (std::size_t i = 0; i < n; ++i) {
    if (out.good[i] == 0) continue;
    reader.read(static_cast<Index>(i), row.data());
    std::copy_n(row.data(), 3, out.rows.data() + i * kPlacedCols);
    out.rounding = std::max(out.rounding, kernels.place(lattice, row.data(), out.at.data() + 3 * i, out.rows.data() + i * kPlacedCols + 3));
    ++out.count;
  }
  return out;
}

/// Around the placed queries, in the frame.
struct FrameBox {
  std::array<double, 3> low{kInfinity, kInfinity, kInfinity};
  std::array<double, 3> high{-kInfinity, -kInfinity, -kInfinity};

  explicit FrameBox(const Placed& points) {
    for (std::size_t i = 0; i < points.good.size(); ++i) {
      for (std::size_t c = 0; c < 3 && points.good[i] != 0; ++c) {
        low[c] = std::min(low[c], points.at[3 * i + c]);
        high[c] = std::max(high[c], points.at[3 * i + c]);
      }
    }
  }
  double distance2(const std::array<double, 3>& p) const {
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const double gap = std::max({0.0, low[c] - p[c], p[c] - high[c]});
      sum += gap * gap;
    }
    return sum;
  }
  /// How far a point of `other` may be from one of ours along the directions from `first` on.
  double reach(const FrameBox& other, int first) const {
    double sum = 0;
    for (auto c = static_cast<std::size_t>(first); c < 3; ++c) {
      const double side = std::max(high[c] - other.low[c], other.high[c] - low[c]);
      sum += side * side;
    }
    return std::sqrt(sum);
  }
};

/// A radius that holds at least `wanted` images of `rows` base rows around every query: each row has one within the brick's half diagonal,
/// and as many more as there are lattice vectors within what is added.
double radius_for(const metrics::Lattice& lattice, Index wanted, Index rows, double open_reach) {
  double half2 = 0;
  for (int a = 0; a < lattice.rank; ++a) half2 += 0.25 * lattice.brick[a][a] * lattice.brick[a][a];
  const auto vectors = static_cast<std::size_t>((wanted + rows - 1) / rows);
  double radius = lattice.shortest * kOutward;
  std::vector<metrics::LatticeImage> found = metrics::vectors_within(lattice, radius);
  while (found.size() < vectors) found = metrics::vectors_within(lattice, radius *= 1.5);
  std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(vectors - 1), found.end(),
                   [](const auto& a, const auto& b) { return a.norm2 < b.norm2; });
  return (std::sqrt(half2 + open_reach * open_reach) + std::sqrt(found[vectors - 1].norm2)) * kOutward;
}

/// The largest k-th distance of nearest images; infinity when a list is short.
double radius_of(const Neighbours& nearest, const Placed& queries) {
  double radius = 0;
  for (std::size_t q = 0; q < queries.good.size(); ++q) {
    if (queries.good[q] == 0) continue;
    const std::size_t last = (q + 1) * static_cast<std::size_t>(nearest.k) - 1;
    radius = std::max(radius, nearest.ids[last] < 0 ? kInfinity : nearest.distances64[last]);
  }
  return radius;
}

/// Images of base rows, [n, 6], sorted by (row, shift): a search's order by position is then that of (id, shift).
struct LaidOut {
  std::vector<double> rows;
  std::vector<Index> row;  // [n]: of the base
};

LaidOut images_near(const Placed& base, const FrameBox& box, const metrics::Lattice& lattice, double radius, std::uint64_t memory) {
  double side2 = 0;  // from one wrapped point to another
  for (int a = 0; a < lattice.rank; ++a) side2 += lattice.brick[a][a] * lattice.brick[a][a];
  const std::vector<metrics::LatticeImage> vectors = metrics::vectors_within(lattice, (radius + std::sqrt(side2)) * kOutward);
  const double limit2 = (radius + 4 * base.rounding) * (radius + 4 * base.rounding) * kOutward;
  LaidOut out;
  std::vector<std::array<double, 3>> shifts;
  for (std::size_t i = 0; i < base.good.size(); ++i) {
    if (base.good[i] == 0) continue;
    shifts.clear();
    for (const metrics::LatticeImage& image : vectors) {
      std::array<double, 3> p;
      for (std::size_t c = 0; c < 3; ++c) p[c] = base.at[3 * i + c] + image.t[c];
      if (box.distance2(p) > limit2) continue;
      std::array<double, 3> n;
      for (std::size_t b = 0; b < 3; ++b) {
        n[b] = base.rows[i * kPlacedCols + 3 + b];
        for (std::size_t a = 0; a < 3; ++a) n[b] += image.steps[a] * lattice.to_cell[a][b];
      }
      shifts.push_back(n);
    }
    std::ranges::sort(shifts);
    for (const auto& n : shifts) {
      out.rows.insert(out.rows.end(), base.rows.begin() + static_cast<std::ptrdiff_t>(i * kPlacedCols), base.rows.begin() + static_cast<std::ptrdiff_t>(i * kPlacedCols + 3));
      out.rows.insert(out.rows.end(), n.begin(), n.end());
      out.row.push_back(static_cast<Index>(i));
    }
    if (out.row.size() * (kPlacedCols + 1) * sizeof(double) > memory / 4) {
      support::fail(ErrorCode::out_of_memory, "the images within {:.4g} of the queries pass a quarter of the memory budget of {} bytes: raise it, or lower k", radius, memory);
    }
  }
  return out;
}

/// Writes the found images as rows and shifts, without the query itself.
void unfold(const Neighbours& found, const LaidOut& images, const Placed& queries, const RowSet& query_rows, const RowSet& base, const KnnOptions& options, Neighbours& out) {
  const auto k = static_cast<std::size_t>(out.k);
  for (std::size_t q = 0; q < queries.good.size(); ++q) {
    const std::int64_t own = options.self == SelfMode::none ? -1 : query_rows.first_id + static_cast<Index>(q);
    std::size_t slot = q * k;
    const auto put = [&](std::int64_t id, double distance, const std::array<double, 3>& shift) {
      if (slot == (q + 1) * k) return;
      out.ids[slot] = id;
      (options.distances == DistanceType::float64 ? out.distances64[slot] = distance : out.distances[slot] = static_cast<float>(distance));
      for (std::size_t a = 0; a < 3 && options.shifts; ++a) out.shifts[3 * slot + a] = static_cast<std::int32_t>(shift[a]);
      ++slot;
    };
    const bool known = own >= base.first_id && own < base.first_id + base.rows && queries.good[q] != 0;
    if (known && options.self == SelfMode::first) put(own, 0, {});
    for (std::size_t s = q * static_cast<std::size_t>(found.k); s < (q + 1) * static_cast<std::size_t>(found.k) && found.ids[s] >= 0; ++s) {
      const auto position = static_cast<std::size_t>(found.ids[s]);
      std::array<double, 3> shift;
      for (std::size_t a = 0; a < 3; ++a) shift[a] = images.rows[position * kPlacedCols + 3 + a] - queries.rows[q * kPlacedCols + 3 + a];
      const std::int64_t id = base.first_id + images.row[position];
      const bool itself = id == own && shift == std::array<double, 3>{};
      if (itself && options.self != SelfMode::natural) continue;
      put(id, found.distances64[s], shift);
    }
  }
}

Neighbours empty_lists(Index nq, Index k, const KnnOptions& options) {
  Neighbours out;
  out.rows = nq;
  out.k = k;
  const auto size = static_cast<std::size_t>(nq * k);
  out.ids.assign(size, -1);
  if (options.distances == DistanceType::float64) {
    out.distances64.assign(size, kInfinity);
  } else {
    out.distances.assign(size, std::numeric_limits<float>::infinity());
  }
  if (options.shifts) out.shifts.assign(3 * size, 0);
  return out;
}

}  // namespace

Neighbours search_all_images(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options) {
  KnnOptions inner = options;
  inner.images = tessera::Images::nearest;
  const auto lattice = metrics::make_lattice(options.metric.cell.value(), base.cols);
  if (lattice->rank == 0 || base.rows == 0 || queries.rows == 0) return search_streaming(queries, base, k, inner);

  // Any k images bound the k-th of all: the nearest of each of k rows, where there are so many.
  inner.shifts = false;
  inner.distances = DistanceType::float64;
  const Neighbours nearest = search_streaming(queries, base, std::min(k, base.rows), inner);
  const auto executor = make_executor(options.threads);
  const double largest = prepare::largest_value(lattice.get());
  const auto special_of = [&](const RowSet& rows, const char* what) {
    return prepare::find_special_rows(prepare::RowReader(select_kernels(), rows, false), options.nan, what, *executor, largest);
  };
  const Placed x = place(queries, *lattice, special_of(queries, "queries"));
  core::SpecialRows left_out = special_of(base, "base");
  prepare::deny(left_out, denied_rows(options.filter, base));
  const Placed y = place(base, *lattice, left_out);
  Neighbours out = empty_lists(queries.rows, k, options);
  out.report = nearest.report;
  if (x.count == 0 || y.count == 0) return out;

  const FrameBox box(x);
  double radius = k > base.rows ? kInfinity : radius_of(nearest, x) * kOutward;
  if (std::isinf(radius)) radius = radius_for(*lattice, k + 1, y.count, box.reach(FrameBox(y), lattice->rank));
  const std::uint64_t memory = options.memory > 0 ? options.memory : support::available_memory() / 2;
  const LaidOut images = images_near(y, box, *lattice, radius + 4 * x.rounding, memory);

  inner.self = SelfMode::none;
  inner.nan = NanPolicy::skip;
  inner.filter = {};
  std::vector<double> asked = x.rows;
  for (std::size_t q = 0; q < x.good.size(); ++q) {
    if (x.good[q] == 0) asked[q * kPlacedCols] = std::numeric_limits<double>::quiet_NaN();
  }
  const Neighbours found = search_streaming(dense(asked.data(), queries.rows, kPlacedCols), dense(images.rows.data(), std::ssize(images.row), kPlacedCols), k + 1, inner);
  unfold(found, images, x, queries, base, options, out);
  out.report = found.report;
  out.report.skipped_base = nearest.report.skipped_base;
  out.report.denied_base = nearest.report.denied_base;
  out.report.skipped_queries = nearest.report.skipped_queries;
  out.report.half_cell = lattice->shortest / 2;
  return out;
}

}  // namespace tessera::engine
