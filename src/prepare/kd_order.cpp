// SPDX-License-Identifier: Apache-2.0
#include "prepare/kd_order.hpp"

#include <algorithm>
#include <array>
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

/// Moves what is before the pivot to the front, without a branch that the data could mislead. Returns how much that is.
template <class Before>
Index partition(Keyed* a, Index count, Before before) noexcept {
  Index front = 0;
  for (Index i = 0; i < count; ++i) {
    const Keyed here = a[i];
    a[i] = a[front];
    a[front] = here;
    front += before(here.key) ? 1 : 0;
  }
  return front;
}

/// A key near the one at place `cut` when sorted, from a small sample.
float pivot_near(const Keyed* a, Index count, Index cut) noexcept {
  constexpr Index kSample = 32;
  constexpr Index kFew = 512;
  if (count < kFew) {
    const float x = a[0].key, y = a[count / 2].key, z = a[count - 1].key;
    return std::max(std::min(x, y), std::min(std::max(x, y), z));
  }
  std::array<float, kSample> keys;
  for (Index i = 0; i < kSample; ++i) keys[static_cast<std::size_t>(i)] = a[i * (count / kSample)].key;
  const auto wanted = keys.begin() + std::min(kSample - 1, cut * kSample / count);
  std::nth_element(keys.begin(), wanted, keys.end());
  return *wanted;
}

/// As std::nth_element by key: no key before `cut` is larger than one from it on.
void select(Keyed* a, Index count, Index cut) noexcept {
  constexpr Index kSmall = 24;
  constexpr int kPatience = 40;  // partitions that go nowhere: equal keys, or data made to hurt
  for (int round = 0; round < kPatience && count > kSmall && cut > 0 && cut < count; ++round) {
    const float pivot = pivot_near(a, count, cut);
    Index front = partition(a, count, [&](float key) { return key < pivot; });
    if (cut <= front) {
      count = front;
      continue;
    }
    if (front == 0) {
      front = partition(a, count, [&](float key) { return key <= pivot; });
      if (cut <= front) return;  // all before the cut are the smallest key
    }
    a += front;
    count -= front;
    cut -= front;
  }
  std::nth_element(a, a + cut, a + count, [](const Keyed& x, const Keyed& y) { return x.key < y.key; });
}

/// Orders parts of a permutation in place. D: the columns, where they are known beforehand, else 0.
template <int D>
class Halver {
 public:
  Halver(const float* values, Index d, Index block, Index fine) : values_(values), d_(d), block_(block), fine_(fine), box_(static_cast<std::size_t>(2 * d)) {}

  /// Halves order[0, count) once. Returns the cut, 0 when the part stays whole.
  Index halve(std::uint32_t* order, Index count) {
    const Index cut = kd_cut(count, block_, fine_);
    if (cut == 0) return 0;
    const Index side = widest_side(order, count);
    keyed_.resize(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i) keyed_[static_cast<std::size_t>(i)] = {key(values_[Index{order[i]} * columns() + side]), order[i]};
    select(keyed_.data(), count, cut);
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
  Index columns() const noexcept { return D > 0 ? D : d_; }

  /// NaN goes to one end: it compares with nothing.
  static float key(float value) noexcept { return value == value ? value : std::numeric_limits<float>::infinity(); }

  Index widest_side(const std::uint32_t* order, Index count) {
    if constexpr (D > 0) {
      std::array<float, 2 * D> box;
      clear_box(box);
      for (Index i = 0; i < count; ++i) include_row(std::span<float, 2 * D>(box), values_ + Index{order[i]} * D);
      return widest(box);
    } else {
      clear_box(box_);
      for (Index i = 0; i < count; ++i) include_row(std::span(box_), values_ + Index{order[i]} * d_);
      return widest(box_);
    }
  }

  Index widest(Box box) const noexcept {
    Index side = 0;
    float most = -1;
    for (Index t = 0; t < columns(); ++t) {
      const float width = box[static_cast<std::size_t>(columns() + t)] - box[static_cast<std::size_t>(t)];
      if (width > most) {
        most = width;
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

/// Calls with the Halver made for these columns.
template <class Call>
auto with_halver(const float* values, Index d, Index block, Index fine, Call call) {
  switch (d) {
    case 1: return call(Halver<1>(values, d, block, fine));
    case 2: return call(Halver<2>(values, d, block, fine));
    case 3: return call(Halver<3>(values, d, block, fine));
    default: return call(Halver<0>(values, d, block, fine));
  }
}

/// Orders one part with its coordinates copied together.
void order_subtree(const Coordinates& points, std::uint32_t* order, Index count, Index block, Index fine) {
  std::vector<float> values(static_cast<std::size_t>(count * points.d));
  for (Index i = 0; i < count; ++i) std::copy_n(points.row(order[i]), points.d, values.data() + i * points.d);
  std::vector<std::uint32_t> local(static_cast<std::size_t>(count));
  std::iota(local.begin(), local.end(), 0u);
  with_halver(values.data(), points.d, block, fine, [&](auto halver) { halver.order_all(local.data(), count); });
  const std::vector<std::uint32_t> before(order, order + count);
  for (Index i = 0; i < count; ++i) order[i] = before[local[static_cast<std::size_t>(i)]];
}

}  // namespace

Index kd_cut(Index count, Index block, Index fine) noexcept {
  Index unit = count > block ? block : fine;
  while (unit >= block && unit * kFanOut < count) unit *= kFanOut;
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
      const Index cut = with_halver(points.values.data(), points.d, block, fine, [&](auto halver) { return halver.halve(order.data() + part.first, part.size()); });
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
