// SPDX-License-Identifier: Apache-2.0
#include "prepare/kd_order.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/tile.hpp"
#include "prepare/box.hpp"
#include "prepare/special_rows.hpp"
#include "support/aligned_buffer.hpp"

namespace tessera::prepare {
namespace {

constexpr Index kRowsPerTask = 4096;
constexpr int kMostOrderedBy = 8;  // columns beyond are not looked at: blocks of so many are never compact
constexpr Index kSubtree = Index{1} << 14;  // points that one task orders alone

/// A point on its way: its coordinates (+inf for NaN, which compares with nothing), and which it is. Moved whole, so that every pass reads on.
template <int D>
struct Record {
  float at[D];
  std::uint32_t point;
};

/// Moves what is before the pivot to the front, without a branch that the data could mislead. Returns how much that is. rest [count]: every record is
/// stored twice, once where it does not matter, so that nothing waits for a load.
template <class R, class Before>
Index partition(R* a, Index count, R* rest, Before before) noexcept {
  Index front = 0;
  for (Index i = 0; i < count; ++i) {
    const R here = a[i];
    a[front] = here;
    rest[i - front] = here;
    front += before(here) ? 1 : 0;
  }
  std::copy_n(rest, count - front, a + front);
  return front;
}

/// A key near the one at place `cut` when sorted, from a small sample: rather past it where the first half holds the cut, else rather before, so that
/// the cut ends up in the smaller part.
template <class R>
float pivot_near(const R* a, Index count, Index cut, int side) noexcept {
  constexpr Index kSample = 32;
  constexpr Index kFew = 512;
  if (count < kFew) {
    const float x = a[0].at[side], y = a[count / 2].at[side], z = a[count - 1].at[side];
    return std::max(std::min(x, y), std::min(std::max(x, y), z));
  }
  std::array<float, kSample> keys;
  for (Index i = 0; i < kSample; ++i) keys[static_cast<std::size_t>(i)] = a[i * (count / kSample)].at[side];
  const Index aim = cut * kSample / count + (2 * cut <= count ? 2 : -2);
  const auto wanted = keys.begin() + std::clamp<Index>(aim, 0, kSample - 1);
  std::nth_element(keys.begin(), wanted, keys.end());
  return *wanted;
}

/// As std::nth_element by one coordinate: none before `cut` is larger than one from it on.
template <class R>
void select(R* a, Index count, Index cut, int side, R* rest) noexcept {
  constexpr Index kSmall = 24;
  constexpr int kPatience = 40;  // partitions that go nowhere: equal keys, or data made to hurt
  for (int round = 0; round < kPatience && count > kSmall && cut > 0 && cut < count; ++round) {
    const float pivot = pivot_near(a, count, cut, side);
    Index front = partition(a, count, rest, [&](const R& r) { return r.at[side] < pivot; });
    if (cut <= front) {
      count = front;
      continue;
    }
    if (front == 0) {
      front = partition(a, count, rest, [&](const R& r) { return r.at[side] <= pivot; });
      if (cut <= front) return;  // all before the cut are the smallest key
    }
    a += front;
    count -= front;
    cut -= front;
  }
  std::nth_element(a, a + cut, a + count, [&](const R& x, const R& y) { return x.at[side] < y.at[side]; });
}

template <int D>
int widest_side(const Record<D>* a, Index count) noexcept {
  std::array<float, 2 * D> box;
  clear_box(box);
  for (Index i = 0; i < count; ++i) include_row(std::span<float, 2 * D>(box), a[i].at);
  int side = 0;
  float most = -1;
  for (int t = 0; t < D; ++t) {
    const float width = box[static_cast<std::size_t>(D + t)] - box[static_cast<std::size_t>(t)];
    if (width > most) {
      most = width;
      side = t;
    }
  }
  return side;
}

/// Halves a[0, count) once; rest [count] is scratch. Returns the cut, 0 when the part stays whole.
template <int D>
Index halve(Record<D>* a, Index count, Index block, Index fine, Record<D>* rest) noexcept {
  const Index cut = kd_cut(count, block, fine);
  if (cut > 0) select(a, count, cut, widest_side(a, count), rest);
  return cut;
}

template <int D>
void halve_all(Record<D>* a, Index count, Index block, Index fine, Record<D>* rest) noexcept {
  const Index cut = halve(a, count, block, fine, rest);
  if (cut == 0) return;
  halve_all(a, cut, block, fine, rest);
  halve_all(a + cut, count - cut, block, fine, rest);
}

/// By the first D columns.
template <int D>
std::vector<std::uint32_t> order_by(const Coordinates& points, Index block, Index fine, core::Executor& executor) {
  support::AlignedBuffer<Record<D>> records(static_cast<std::size_t>(points.count));
  const auto of_task = [&](Index task, auto&& body) {
    for (Index i = task * kRowsPerTask; i < std::min(points.count, (task + 1) * kRowsPerTask); ++i) body(i, records[static_cast<std::size_t>(i)]);
  };
  const Index tasks = (points.count + kRowsPerTask - 1) / kRowsPerTask;
  executor.run(tasks, [&](Index task, int) {
    of_task(task, [&](Index i, Record<D>& r) {
      const float* row = points.row(i);
      for (int t = 0; t < D; ++t) r.at[t] = row[t] == row[t] ? row[t] : std::numeric_limits<float>::infinity();
      r.point = static_cast<std::uint32_t>(i);
    });
  });
  std::vector<core::Range> parts{{0, points.count}};
  while (!parts.empty() && parts.front().size() > kSubtree) {
    std::vector<core::Range> halves(parts.size() * 2);
    executor.run(std::ssize(parts), [&](Index i, int) {
      const core::Range part = parts[static_cast<std::size_t>(i)];
      support::AlignedBuffer<Record<D>> rest(static_cast<std::size_t>(part.size()));
      const Index cut = halve(records.data() + part.first, part.size(), block, fine, rest.data());
      halves[static_cast<std::size_t>(2 * i)] = {part.first, part.first + cut};
      halves[static_cast<std::size_t>(2 * i + 1)] = {part.first + cut, part.last};
    });
    parts = std::move(halves);
  }
  executor.run(std::ssize(parts), [&](Index i, int) {
    const core::Range part = parts[static_cast<std::size_t>(i)];
    support::AlignedBuffer<Record<D>> rest(static_cast<std::size_t>(part.size()));
    halve_all(records.data() + part.first, part.size(), block, fine, rest.data());
  });
  std::vector<std::uint32_t> order(records.size());
  executor.run(tasks, [&](Index task, int) { of_task(task, [&](Index i, const Record<D>& r) { order[static_cast<std::size_t>(i)] = r.point; }); });
  return order;
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
  switch (points.d) {
    case 1: return order_by<1>(points, block, fine, executor);
    case 2: return order_by<2>(points, block, fine, executor);
    case 3: return order_by<3>(points, block, fine, executor);
    case 4: return order_by<4>(points, block, fine, executor);
    case 5: return order_by<5>(points, block, fine, executor);
    case 6: return order_by<6>(points, block, fine, executor);
    case 7: return order_by<7>(points, block, fine, executor);
    default: return order_by<kMostOrderedBy>(points, block, fine, executor);
  }
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
