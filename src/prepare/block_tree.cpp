// SPDX-License-Identifier: Apache-2.0
#include "prepare/block_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "metrics/bound.hpp"

namespace tessera::prepare {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Index kBlocksPerTask = 256;

Index divide_up(Index a, Index b) noexcept { return (a + b - 1) / b; }

}  // namespace

void bound_points(const Coordinates& points, std::span<const std::uint32_t> which, std::span<float> box) noexcept {
  clear_box(box);
  for (const std::uint32_t i : which) {
    const float* row = points.row(i);
    if (std::isnan(row[0])) return open_box(box);
    include_row(box, row);
  }
}

BlockTree::BlockTree(const Coordinates& points, std::span<const std::uint32_t> order, Index block, core::Executor& executor)
    : d_(points.d), block_(block), count_(std::ssize(order)) {
  if (order.empty()) return;
  const auto add_level = [&](Index nodes) { levels_.push_back({nodes, std::vector<float>(static_cast<std::size_t>(divide_up(nodes, kFanOut) * 2 * d_ * kFanOut))}); };
  add_level(divide_up(count_, block_));
  executor.run(divide_up(blocks(), kBlocksPerTask), [&](Index task, int) {
    std::vector<float> box(static_cast<std::size_t>(2 * d_));
    for (Index b = task * kBlocksPerTask; b < std::min(blocks(), (task + 1) * kBlocksPerTask); ++b) {
      bound_points(points, order.subspan(static_cast<std::size_t>(b * block_), static_cast<std::size_t>(std::min(block_, count_ - b * block_))), box);
      set_box(levels_.front(), b, box);
    }
  });
  std::vector<float> box(static_cast<std::size_t>(2 * d_));
  while (levels_.back().nodes > kFanOut) {
    add_level(divide_up(levels_.back().nodes, kFanOut));
    const Level& below = levels_[levels_.size() - 2];
    for (Index g = 0; g < levels_.back().nodes; ++g) {
      const float* boxes = group(std::ssize(levels_) - 2, g);
      const auto members = static_cast<std::ptrdiff_t>(std::min(kFanOut, below.nodes - g * kFanOut));
      for (Index t = 0; t < d_; ++t) {
        box[static_cast<std::size_t>(t)] = *std::min_element(boxes + t * kFanOut, boxes + t * kFanOut + members);
        box[static_cast<std::size_t>(d_ + t)] = *std::max_element(boxes + (d_ + t) * kFanOut, boxes + (d_ + t) * kFanOut + members);
      }
      set_box(levels_.back(), g, box);
    }
  }
}

void BlockTree::set_box(Level& level, Index node, Box box) const noexcept {
  float* to = level.boxes.data() + node / kFanOut * 2 * d_ * kFanOut + node % kFanOut;
  for (Index t = 0; t < 2 * d_; ++t) to[t * kFanOut] = box[static_cast<std::size_t>(t)];
}

std::uint64_t BlockTree::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const Level& level : levels_) sum += level.boxes.size() * sizeof(float);
  return sum;
}

NearToFar::NearToFar(const BlockTree& tree, kernels::BoxKernel scores, std::span<const double> shifts)
    : tree_(&tree), scores_(scores), shifts_(shifts), box_(static_cast<std::size_t>(2 * tree.d_)), from_(box_.size()) {
  if (several()) seen_.resize(static_cast<std::size_t>(tree.blocks()));
}

void NearToFar::start(Box from) {
  stack_.clear();
  waiting_.clear();
  imaged_ = !several() || tree_->empty();
  if (several() && ++round_ == 0) {
    std::ranges::fill(seen_, 0u);
    round_ = 1;
  }
  if (tree_->empty()) return;  // it knows no columns either
  std::ranges::copy(from, box_.begin());
  std::ranges::copy(from, from_.begin());
  expand(std::ssize(tree_->levels_) - 1, 0, kInfinity);
}

/// Outward: a shifted end is rounded.
void NearToFar::move_to(Index shift) noexcept {
  const auto d = static_cast<std::size_t>(tree_->d_);
  for (std::size_t t = 0; t < d; ++t) {
    const double by = shifts_[static_cast<std::size_t>(shift) * d + t];
    from_[t] = by == 0 ? box_[t] : metrics::float_down(box_[t] + by);
    from_[d + t] = by == 0 ? box_[d + t] : metrics::float_up(box_[d + t] + by);
  }
}

/// Puts the members of a group that are within reach on the stack, the nearest last.
void NearToFar::expand(Index level, Index group, float reach) {
  alignas(64) float scores[kFanOut];
  scores_(from_.data(), tree_->group(level, group), tree_->d_, scores);
  const Index first = group * kFanOut;
  const Index members = std::min(kFanOut, tree_->levels_[static_cast<std::size_t>(level)].nodes - first);
  const std::size_t bottom = stack_.size();
  for (Index i = 0; i < members; ++i) {
    if (scores[i] > reach) continue;
    stack_.push_back({scores[i], static_cast<std::uint32_t>(first + i), level});
    for (std::size_t at = stack_.size() - 1; at > bottom && stack_[at].score > stack_[at - 1].score; --at) std::swap(stack_[at], stack_[at - 1]);
  }
}

float NearToFar::nearest(Index level, Index group) const noexcept {
  alignas(64) float scores[kFanOut];
  scores_(from_.data(), tree_->group(level, group), tree_->d_, scores);
  return *std::min_element(scores, scores + std::min(kFanOut, tree_->levels_[static_cast<std::size_t>(level)].nodes - group * kFanOut));
}

/// After the box itself its images, those within reach, the nearest first. They come when the box's own surroundings have lowered the reach.
bool NearToFar::next_image(float reach) {
  const Index top = std::ssize(tree_->levels_) - 1;
  if (!std::exchange(imaged_, true)) {
    const Index images = std::ssize(shifts_) / tree_->d_;
    for (Index i = 1; i < images; ++i) {
      move_to(i);
      const float score = nearest(top, 0);
      if (!(score > reach)) waiting_.push_back({score, static_cast<std::uint32_t>(i), top});
    }
    std::ranges::sort(waiting_, [](const Entry& a, const Entry& b) { return a.score > b.score; });
  }
  if (waiting_.empty() || waiting_.back().score > reach) return false;
  move_to(waiting_.back().number);
  waiting_.pop_back();
  expand(top, 0, reach);
  return true;
}

/// A block that another image met before has been seen whole.
bool NearToFar::first_visit(std::uint32_t block) { return !several() || std::exchange(seen_[block], round_) != round_; }

bool NearToFar::next(float reach, core::Range& places) {
  while (!stack_.empty() || next_image(reach)) {
    if (stack_.empty()) continue;
    const Entry entry = stack_.back();
    stack_.pop_back();
    if (entry.score > reach) continue;
    if (entry.level > 0) {
      expand(entry.level - 1, entry.number, reach);
    } else if (first_visit(entry.number)) {
      const Index first = entry.number * tree_->block_;
      places = {first, std::min(tree_->count_, first + tree_->block_)};
      return true;
    }
  }
  return false;
}

}  // namespace tessera::prepare
