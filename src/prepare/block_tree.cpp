// SPDX-License-Identifier: Apache-2.0
#include "prepare/block_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/bound.hpp"

namespace tessera::prepare {
namespace {

constexpr double kHalfUlp64 = 0x1p-53;

/// Adds up the distances between the boxes' intervals, coordinate by coordinate.
template <class Add>
double sum_of_gaps(const float* a, const float* b, std::size_t d, Add add) noexcept {
  double sum = 0;
  for (std::size_t t = 0; t < d; ++t) {
    const double left = static_cast<double>(a[t]) - static_cast<double>(b[d + t]);
    const double right = static_cast<double>(b[t]) - static_cast<double>(a[d + t]);
    sum = add(sum, std::max(std::max(left, right), 0.0));
  }
  return sum;
}

double sum_of_gaps(metrics::Element element, const float* a, const float* b, std::size_t d) noexcept {
  switch (element) {
    case metrics::Element::squared_difference: return sum_of_gaps(a, b, d, [](double sum, double gap) { return sum + gap * gap; });
    case metrics::Element::absolute_difference: return sum_of_gaps(a, b, d, [](double sum, double gap) { return sum + gap; });
    case metrics::Element::maximum_difference: return sum_of_gaps(a, b, d, [](double sum, double gap) { return std::max(sum, gap); });
    case metrics::Element::product: break;
  }
  return -std::numeric_limits<double>::infinity();  // no bound: everything is near
}

}  // namespace

void round_outward(std::span<float> box) noexcept {
  const std::size_t d = box.size() / 2;
  for (std::size_t t = 0; t < d; ++t) {
    box[t] = metrics::float_down(box[t]);
    box[d + t] = metrics::float_up(box[d + t]);
  }
}

double box_distance(metrics::Element element, Box a, Box b) noexcept {
  const std::size_t d = a.size() / 2;
  const double sum = sum_of_gaps(element, a.data(), b.data(), d);
  // Every rounding on either side, ours and the canonical sum's, is within U of its operand, d + 4 of them each; squares that
  // underflow lose or gain at most 2^-1074.
  const auto terms = static_cast<double>(d);
  return sum * (1 - 4 * (terms + 8) * kHalfUlp64) - terms * 0x1p-1073;
}

void bound_points(const Coordinates& points, std::span<const std::uint32_t> which, std::span<float> box) noexcept {
  clear_box(box);
  for (const std::uint32_t i : which) include_row(box, points.row(i));
  round_outward(box);
}

BlockTree::BlockTree(const Coordinates& points, std::span<const std::uint32_t> order, Index block, core::Executor& executor) : d_(points.d) {
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

void NearToFar::start(Box from) {
  from_ = from;
  stack_.clear();
  if (!tree_->empty()) stack_.push_back({distance_to(0), 0});
}

bool NearToFar::next(double reach, core::Range& places) {
  while (!stack_.empty()) {
    const Entry entry = stack_.back();
    stack_.pop_back();
    if (entry.distance > reach) continue;
    const auto& node = tree_->nodes_[static_cast<std::size_t>(entry.node)];
    if (node.right == 0) {
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
