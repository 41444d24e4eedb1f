// SPDX-License-Identifier: Apache-2.0
// Here: bounding boxes over blocks of ordered rows, and the walk that visits them from near to far.
// Not here: the order (kd_order.hpp), what is done with a block (the engine's tile loop).
#pragma once

#include <span>
#include <vector>

#include "core/tile.hpp"
#include "kernels/cpu/contract.hpp"
#include "prepare/box.hpp"
#include "prepare/kd_order.hpp"
#include "support/aligned_buffer.hpp"

namespace tessera::prepare {

/// The box of some points; around everything when one of them lies nowhere (NaN).
void bound_points(const Coordinates& points, std::span<const std::uint32_t> which, std::span<float> box) noexcept;

/// Boxes over blocks of `block` consecutive places, over groups of kFanOut blocks, over groups of those, up to one group. Groups are laid out as
/// kernels::BoxKernel takes them.
class BlockTree {
 public:
  BlockTree() = default;
  BlockTree(const Coordinates& points, std::span<const std::uint32_t> order, Index block, core::Executor& executor);

  bool empty() const noexcept { return levels_.empty(); }
  Index blocks() const noexcept { return empty() ? 0 : levels_.front().nodes; }
  std::uint64_t bytes() const noexcept;

 private:
  friend class NearToFar;
  struct Level {
    Index nodes;
    std::vector<float> boxes;  // [groups, 2 d, kFanOut]
  };
  void set_box(Level& level, Index node, Box box) const noexcept;
  const float* group(Index level, Index number) const noexcept {
    return levels_[static_cast<std::size_t>(level)].boxes.data() + number * 2 * d_ * kFanOut;
  }

  Index d_ = 0;
  Index block_ = 1;
  Index count_ = 0;
  std::vector<Level> levels_;  // blocks first
};

/// Visits the blocks of a tree, those near a box or one of its images first, each once.
class NearToFar {
 public:
  /// shifts  [images, d], zero first: what leads from a box to its images. Outlive the walk, as the tree does. Empty: the box alone.
  NearToFar(const BlockTree& tree, kernels::BoxKernel scores, std::span<const double> shifts = {});

  void start(Box from);
  /// The next block whose box, or an image of it, scores at most reach. reach may only fall from call to call.
  bool next(float reach, core::Range& places);

 private:
  struct Entry {
    float score;
    std::uint32_t number;
    Index level;
  };
  bool several() const noexcept { return std::ssize(shifts_) > tree_->d_; }
  void move_to(Index shift) noexcept;
  void expand(Index level, Index group, float reach);
  float nearest(Index level, Index group) const noexcept;
  bool next_image(float reach);
  bool first_visit(std::uint32_t block);

  const BlockTree* tree_;
  kernels::BoxKernel scores_;
  std::span<const double> shifts_;
  std::vector<float> box_;      // [2 d] where the walk started
  std::vector<float> from_;     // [2 d] its image at work
  std::vector<Entry> stack_;    // nearest last
  std::vector<Entry> waiting_;  // images, numbered, nearest last
  std::vector<std::uint32_t> seen_;  // [blocks] the round that visited each last
  std::uint32_t round_ = 0;
  bool imaged_ = true;          // images have been looked for
};

}  // namespace tessera::prepare
