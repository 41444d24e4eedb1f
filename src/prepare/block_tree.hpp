// SPDX-License-Identifier: Apache-2.0
// Here: bounding boxes over blocks of ordered rows, and the walk that visits them from near to far.
// Not here: the order (kd_order.hpp), what is done with a block (the engine's tile loop).
#pragma once

#include <span>
#include <vector>

#include "core/tile.hpp"
#include "metrics/traits.hpp"
#include "prepare/box.hpp"
#include "prepare/kd_order.hpp"

namespace tessera::prepare {

/// Not above the element's exact sum between any point in one box (low [d], then high [d]) and any in the other.
double box_distance(metrics::Element element, std::span<const double> a, Box b) noexcept;

/// The box of some points; around everything when one of them lies nowhere (NaN).
void bound_points(const Coordinates& points, std::span<const std::uint32_t> which, std::span<float> box) noexcept;

/// A binary tree over blocks of `block` consecutive places, cut as kd_order cuts.
class BlockTree {
 public:
  BlockTree() = default;
  BlockTree(const Coordinates& points, std::span<const std::uint32_t> order, Index block, core::Executor& executor);

  bool empty() const noexcept { return nodes_.empty(); }
  std::uint64_t bytes() const noexcept { return nodes_.size() * sizeof(Node) + boxes_.size() * sizeof(float); }

 private:
  friend class NearToFar;
  struct Node {
    core::Range places;
    std::uint32_t right = 0;  // the left child comes next; 0: a block
  };
  Index add(Index first, Index count, Index block);
  Box box(Index node) const noexcept { return Box(boxes_).subspan(static_cast<std::size_t>(node * 2 * d_), static_cast<std::size_t>(2 * d_)); }
  std::span<float> box_of(Index node) noexcept { return std::span(boxes_).subspan(static_cast<std::size_t>(node * 2 * d_), static_cast<std::size_t>(2 * d_)); }

  Index d_ = 0;
  Index block_ = 1;
  std::vector<Node> nodes_;  // parents before children
  std::vector<float> boxes_;  // [nodes, 2 d]
};

/// Visits the blocks of a tree, those near a box or one of its images first, each once.
class NearToFar {
 public:
  /// shifts  [images, d], zero first: what leads from a box to its images. Outlive the walk, as the tree does. Empty: the box alone.
  NearToFar(const BlockTree& tree, metrics::Element element, std::span<const double> shifts = {});

  void start(Box from);
  /// The next block with box_distance <= reach from any image. reach may only fall from call to call.
  bool next(double reach, core::Range& places);

 private:
  struct Entry {
    double distance;
    Index node;
  };
  double distance_to(Index node) const noexcept { return box_distance(element_, from_, tree_->box(node)); }
  bool several() const noexcept { return std::ssize(shifts_) > tree_->d_; }
  void move_to(Index shift) noexcept;
  bool next_image(double reach);
  bool first_visit(const core::Range& places);

  const BlockTree* tree_;
  metrics::Element element_;
  std::span<const double> shifts_;
  std::vector<float> box_;   // [2 d] where the walk started
  std::vector<double> from_; // [2 d] its image at work
  std::vector<Entry> stack_;
  std::vector<Entry> waiting_;  // images, by number in place of a node, the farthest first
  std::vector<std::uint32_t> seen_;  // [blocks] the round that visited each last
  std::uint32_t round_ = 0;
  Index shift_ = 0;  // 0: images have not been looked for
};

}  // namespace tessera::prepare
