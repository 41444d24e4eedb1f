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

/// The kernels that a walk scores boxes with.
struct BoxKernels {
  BoxKernels() = default;
  BoxKernels(const kernels::CpuKernels& kernels, metrics::Element element) : scores(kernels.boxes(element)), within(kernels.near.boxes_within(element)) {}
  kernels::BoxKernel scores = nullptr;
  kernels::BoxesWithinKernel within = nullptr;
};

/// Visits the blocks of a tree, those near a box or one of its images first, each once.
class NearToFar {
 public:
  /// shifts  [images, d], zero first: what leads from a box to its images. Outlive the walk, as the tree does. Empty: the box alone.
  NearToFar(const BlockTree& tree, const BoxKernels& kernels, std::span<const double> shifts = {});

  void start(Box from);
  /// The next block. As long as reach is infinite, one after the other around the nearest; from then on those whose box, or an image of it, scores at
  /// most reach, which may only fall from call to call.
  bool next(float reach, core::Range& places);

 private:
  bool several() const noexcept { return std::ssize(shifts_) > tree_->d_; }
  void bound_images();
  void move_to(Index shift) noexcept;
  std::uint32_t nearest() const noexcept;
  void collect(float reach);
  void collect_from(float reach);
  bool first_visit(std::uint32_t block);
  core::Range places_of(std::uint32_t block) const noexcept;

  const BlockTree* tree_;
  BoxKernels kernels_;
  std::span<const double> shifts_;
  std::vector<float> images_;   // [groups, 2 d, kFanOut] the whole base, as seen from the box when that is moved by each shift
  std::vector<float> box_;      // [2 d] where the walk started
  std::vector<float> from_;     // [2 d] its image at work
  std::vector<float> scores_;   // of the nodes found, level by level
  std::vector<std::uint32_t> groups_, nodes_;
  std::vector<std::uint64_t> found_;  // blocks to visit, score above number, the nearest last
  std::vector<std::uint32_t> seen_;   // [blocks] the round that visited each last
  std::uint32_t round_ = 0;
  std::uint32_t seed_ = 0;      // the nearest block; while reach is infinite, block seed ^ i is visited as number i
  std::uint32_t seeds_ = 0;     // how many were
  bool collected_ = false;
};

}  // namespace tessera::prepare
