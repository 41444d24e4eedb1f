// SPDX-License-Identifier: Apache-2.0
#include "prepare/block_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::prepare {
namespace {

constexpr double kHalfUlp64 = 0x1p-53;

/// Adds up the distances between the boxes' intervals, coordinate by coordinate.
template <class Add>
double sum_of_gaps(const double* a, const float* b, std::size_t d, Add add) noexcept {
  double sum = 0;
  for (std::size_t t = 0; t < d; ++t) {
    const double left = a[t] - static_cast<double>(b[d + t]);
    const double right = static_cast<double>(b[t]) - a[d + t];
    sum = add(sum, std::max(std::max(left, right), 0.0));
  }
  return sum;
}

double sum_of_gaps(metrics::Element element, const double* a, const float* b, std::size_t d) noexcept {
  switch (element) {
    case metrics::Element::squared_difference: return sum_of_gaps(a, b, d, [](double sum, double gap) { return sum + gap * gap; });
    case metrics::Element::absolute_difference: return sum_of_gaps(a, b, d, [](double sum, double gap) { return sum + gap; });
    case metrics::Element::maximum_difference: return sum_of_gaps(a, b, d, [](double sum, double gap) { return std::max(sum, gap); });
    case metrics::Element::product: break;
  }
  return -std::numeric_limits<double>::infinity();  // no bound: everything is near
}

}  // namespace

double box_distance(metrics::Element element, std::span<const double> a, Box b) noexcept {
  const std::size_t d = b.size() / 2;
  const double sum = sum_of_gaps(element, a.data(), b.data(), d);
  // At most d + 2 roundings of non-negative numbers, each within U of its operand; squares of doubles between floats do not underflow.
  return sum * (1 - (static_cast<double>(d) + 4) * kHalfUlp64);
}

void bound_points(const Coordinates& points, std::span<const std::uint32_t> which, std::span<float> box) noexcept {
  clear_box(box);
  for (const std::uint32_t i : which) {
    const float* row = points.row(i);
    if (std::isnan(row[0])) return open_box(box);
    include_row(box, row);
  }
}

BlockTree::BlockTree(const Coordinates& points, std::span<const std::uint32_t> order, Index block, core::Executor& executor) : d_(points.d), block_(block) {
  if (order.empty()) return;
  add(0, std::ssize(order), block);
  boxes_.resize(nodes_.size() * static_cast<std::size_t>(2 * d_));
  const Index nodes = std::ssize(nodes_);
  constexpr Index kNodesPerTask = 1024;
  executor.run((nodes + kNodesPerTask - 1) / kNodesPerTask, [&](Index task, int) {
    for (Index i = task * kNodesPerTask; i < std::min(nodes, (task + 1) * kNodesPerTask); ++i) {
      const Node& node = nodes_[static_cast<std::size_t>(i)];
      if (node.right == 0) bound_points(points, order.subspan(static_cast<std::size_t>(node.places.first), static_cast<std::size_t>(node.places.size())), box_of(i));
    }
  });
  for (Index i = nodes - 1; i >= 0; --i) {
    const Node& node = nodes_[static_cast<std::size_t>(i)];
    if (node.right == 0) continue;
    const Box a = box(i + 1);
    const Box b = box(node.right);
    const std::span<float> out = box_of(i);
    const auto d = static_cast<std::size_t>(d_);
    for (std::size_t t = 0; t < d; ++t) {
      out[t] = std::min(a[t], b[t]);
      out[d + t] = std::max(a[d + t], b[d + t]);
    }
  }
}

Index BlockTree::add(Index first, Index count, Index block) {
  const Index self = std::ssize(nodes_);
  nodes_.push_back({{first, first + count}, 0});
  const Index cut = kd_cut(count, block, block);
  if (cut == 0) return self;
  add(first, cut, block);
  nodes_[static_cast<std::size_t>(self)].right = static_cast<std::uint32_t>(add(first + cut, count - cut, block));
  return self;
}

NearToFar::NearToFar(const BlockTree& tree, metrics::Element element, std::span<const double> shifts)
    : tree_(&tree), element_(element), shifts_(shifts), box_(static_cast<std::size_t>(2 * tree.d_)), from_(box_.size()) {
  if (several() && !tree.empty()) seen_.resize(static_cast<std::size_t>(tree.nodes_[0].places.last / tree.block_ + 1));
}

void NearToFar::start(Box from) {
  stack_.clear();
  waiting_.clear();
  if (++round_ == 0) {
    std::ranges::fill(seen_, 0u);
    round_ = 1;
  }
  shift_ = 0;
  if (tree_->empty()) return;  // it knows no columns either
  std::ranges::copy(from, box_.begin());
  move_to(0);
  stack_.push_back({distance_to(0), 0});
}

void NearToFar::move_to(Index shift) noexcept {
  const auto d = static_cast<std::size_t>(tree_->d_);
  for (std::size_t t = 0; t < 2 * d; ++t) from_[t] = box_[t] + (shift == 0 ? 0.0 : shifts_[static_cast<std::size_t>(shift) * d + t % d]);
}

/// After the box itself its images, those within reach, the nearest first. They come when the box's own surroundings have lowered the reach.
bool NearToFar::next_image(double reach) {
  const auto d = static_cast<std::size_t>(tree_->d_);
  if (several() && shift_ == 0) {
    for (shift_ = 1; static_cast<std::size_t>(shift_) * d < shifts_.size(); ++shift_) {
      move_to(shift_);
      const double distance = distance_to(0);
      if (!(distance > reach)) waiting_.push_back({distance, shift_});
    }
    std::ranges::sort(waiting_, [](const Entry& a, const Entry& b) { return a.distance > b.distance; });
  }
  if (waiting_.empty() || waiting_.back().distance > reach) return false;
  move_to(waiting_.back().node);
  stack_.push_back({waiting_.back().distance, 0});
  waiting_.pop_back();
  return true;
}

/// A block that another image met before has been seen whole.
bool NearToFar::first_visit(const core::Range& places) {
  if (!several()) return true;
  return std::exchange(seen_[static_cast<std::size_t>(places.first / tree_->block_)], round_) != round_;
}

bool NearToFar::next(double reach, core::Range& places) {
  while (!stack_.empty() || next_image(reach)) {
    const Entry entry = stack_.back();
    stack_.pop_back();
    if (entry.distance > reach) continue;
    const auto& node = tree_->nodes_[static_cast<std::size_t>(entry.node)];
    if (node.right == 0) {
      if (!first_visit(node.places)) continue;
      places = node.places;
      return true;
    }
    Entry near{distance_to(entry.node + 1), entry.node + 1};
    Entry far{distance_to(node.right), node.right};
    if (far.distance < near.distance) std::swap(near, far);
    if (!(far.distance > reach)) stack_.push_back(far);
    if (!(near.distance > reach)) stack_.push_back(near);
  }
  return false;
}

}  // namespace tessera::prepare
