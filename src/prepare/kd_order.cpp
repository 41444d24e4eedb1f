// SPDX-License-Identifier: Apache-2.0
#include "prepare/kd_order.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/tile.hpp"
#include "prepare/box.hpp"
#include "prepare/special_rows.hpp"

namespace tessera::prepare {
namespace {

constexpr Index kRowsPerTask = 4096;
constexpr Index kSubtree = Index{1} << 14;  // points that one task orders alone; their coordinates fit the cache

struct Keyed {
  float key;
  std::uint32_t point;
};

/// Orders parts of a permutation in place.
class Halver {
 public:
  Halver(const float* values, Index d, Index block, Index fine)
      : values_(values), d_(d), block_(block), fine_(fine), box_(static_cast<std::size_t>(2 * d)) {}

  /// Halves order[0, count) once. Returns the cut, 0 when the part stays whole.
  Index halve(std::uint32_t* order, Index count) {
    const Index cut = kd_cut(count, block_, fine_);
    if (cut == 0) return 0;
    const Index side = widest_side(order, count);
    keyed_.resize(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i) keyed_[static_cast<std::size_t>(i)] = {key(values_[Index{order[i]} * d_ + side]), order[i]};
    std::nth_element(keyed_.begin(), keyed_.begin() + cut, keyed_.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
    for (Index i = 0; i < count; ++i) order[i] = keyed_[static_cast<std::size_t>(i)].point;
    return cut;
  }

  void order_all(std::uint32_t* order, Index count) {
    const Index cut = halve(order, count);
    if (cut == 0) return;
    order_all(order, cut);
    order_all(order + cut, count - cut);
  }

 private:
  /// NaN goes to one end: it compares with nothing.
  static float key(float value) noexcept { return value == value ? value : std::numeric_limits<float>::infinity(); }

  Index widest_side(const std::uint32_t* order, Index count) {
    clear_box(box_);
    for (Index i = 0; i < count; ++i) include_row(std::span(box_), values_ + Index{order[i]} * d_);
    Index side = 0;
    float widest = -1;
    for (Index t = 0; t < d_; ++t) {
      const float width = box_[static_cast<std::size_t>(d_ + t)] - box_[static_cast<std::size_t>(t)];
      if (width > widest) {
        widest = width;
        side = t;
      }
    }
    return side;
  }

  const float* values_;
  Index d_;
  Index block_;
  Index fine_;
  std::vector<float> box_;
  std::vector<Keyed> keyed_;
};

/// Orders one part with its coordinates copied together.
void order_subtree(const Coordinates& points, std::uint32_t* order, Index count, Index block, Index fine) {
  std::vector<float> values(static_cast<std::size_t>(count * points.d));
  for (Index i = 0; i < count; ++i) std::copy_n(points.row(order[i]), points.d, values.data() + i * points.d);
  std::vector<std::uint32_t> local(static_cast<std::size_t>(count));
  std::iota(local.begin(), local.end(), 0u);
  Halver(values.data(), points.d, block, fine).order_all(local.data(), count);
  const std::vector<std::uint32_t> before(order, order + count);
  for (Index i = 0; i < count; ++i) order[i] = before[local[static_cast<std::size_t>(i)]];
}

}  // namespace

Index kd_cut(Index count, Index block, Index fine) noexcept {
  const Index unit = count > block ? block : fine;
  const Index units = (count + unit - 1) / unit;
  return units / 2 * unit;
}

Coordinates read_coordinates(const RowReader& reader, std::span<const Index> rows, core::Executor& executor, const metrics::Lattice* lattice) {
  const RowSet& set = reader.rows();
  Coordinates out{.count = rows.empty() ? set.rows : std::ssize(rows), .d = lattice != nullptr ? kMostPeriodicCols : set.cols, .values = {}};
  out.values.resize(static_cast<std::size_t>(out.count * out.d));
  executor.run((out.count + kRowsPerTask - 1) / kRowsPerTask, [&](Index task, int) {
    std::vector<double> row(static_cast<std::size_t>(reader.padded()));
    const Index last = std::min(out.count, (task + 1) * kRowsPerTask);
    for (Index i = task * kRowsPerTask; i < last; ++i) {
      reader.read(rows.empty() ? i : rows[static_cast<std::size_t>(i)], row.data());
      if (lattice != nullptr) reader.kernels().wrap(*lattice, row.data(), row.data());
      float* to = out.values.data() + i * out.d;
      for (Index t = 0; t < out.d; ++t) to[t] = static_cast<float>(row[static_cast<std::size_t>(t)]);
    }
  });
  return out;
}

std::vector<std::uint32_t> kd_order(const Coordinates& points, Index block, Index fine, core::Executor& executor) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(points.count));
  std::iota(order.begin(), order.end(), 0u);
  std::vector<core::Range> parts{{0, points.count}};
  while (!parts.empty() && parts.front().size() > kSubtree) {
    std::vector<core::Range> halves(parts.size() * 2);
    executor.run(std::ssize(parts), [&](Index i, int) {
      const core::Range part = parts[static_cast<std::size_t>(i)];
      const Index cut = Halver(points.values.data(), points.d, block, fine).halve(order.data() + part.first, part.size());
      halves[static_cast<std::size_t>(2 * i)] = {part.first, part.first + cut};
      halves[static_cast<std::size_t>(2 * i + 1)] = {part.first + cut, part.last};
    });
    parts = std::move(halves);
  }
  executor.run(std::ssize(parts), [&](Index i, int) {
    const core::Range part = parts[static_cast<std::size_t>(i)];
    order_subtree(points, order.data() + part.first, part.size(), block, fine);
  });
  return order;
}

std::vector<Index> ordered_rows(const RowReader& reader, const core::SpecialRows& special, Index fine, core::Executor& executor,
                                const metrics::Lattice* lattice) {
  const Index n = reader.rows().rows;
  if (std::ssize(special.skipped) + std::ssize(special.zero) == n) return {};
  const std::vector<Index> left = rows_left(n, special);
  const std::vector<std::uint32_t> order = kd_order(read_coordinates(reader, left, executor, lattice), fine, fine, executor);
  std::vector<Index> rows(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rows[i] = left.empty() ? Index{order[i]} : left[order[i]];
  return rows;
}

}  // namespace tessera::prepare
