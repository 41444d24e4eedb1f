// SPDX-License-Identifier: Apache-2.0
#include "prepare/block_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
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

NearToFar::NearToFar(const BlockTree& tree, const BoxKernels& kernels, std::span<const double> shifts)
    : tree_(&tree), kernels_(kernels), shifts_(shifts), box_(static_cast<std::size_t>(2 * tree.d_)), from_(box_.size()) {
  if (tree.empty() || !several()) return;
  seen_.resize(static_cast<std::size_t>(tree.blocks()));
  bound_images();
}

/// Instead of a box the base may be moved, the other way: one look then tells which images matter at all. Outward, as a shifted end is rounded.
void NearToFar::bound_images() {
  const auto d = static_cast<std::size_t>(tree_->d_);
  const auto images = static_cast<std::size_t>(std::ssize(shifts_) / tree_->d_);
  const BlockTree::Level& top = tree_->levels_.back();
  const auto fan = static_cast<std::size_t>(kFanOut);
  images_.resize((images + fan - 1) / fan * 2 * d * fan);
  for (std::size_t t = 0; t < d; ++t) {
    const float low = *std::min_element(top.boxes.begin() + static_cast<Index>(t * fan), top.boxes.begin() + static_cast<Index>(t * fan) + top.nodes);
    const float high = *std::max_element(top.boxes.begin() + static_cast<Index>((d + t) * fan), top.boxes.begin() + static_cast<Index>((d + t) * fan) + top.nodes);
    for (std::size_t i = 0; i < images; ++i) {
      float* to = images_.data() + i / fan * 2 * d * fan + i % fan;
      to[t * fan] = metrics::float_down(low - shifts_[i * d + t]);
      to[(d + t) * fan] = metrics::float_up(high - shifts_[i * d + t]);
    }
  }
}

void NearToFar::start(Box from) {
  found_.clear();
  collected_ = false;
  seeds_ = 0;
  if (several() && ++round_ == 0) {
    std::ranges::fill(seen_, 0u);
    round_ = 1;
  }
  if (tree_->empty()) return;  // it knows no columns either
  std::ranges::copy(from, box_.begin());
  std::ranges::copy(from, from_.begin());
  seed_ = nearest();
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

/// From the top down into whichever member is nearest: a block to begin with.
std::uint32_t NearToFar::nearest() const noexcept {
  Index node = 0;
  for (Index level = std::ssize(tree_->levels_) - 1; level >= 0; --level) {
    alignas(64) float scores[kFanOut];
    kernels_.scores(from_.data(), tree_->group(level, node), tree_->d_, scores);
    const Index first = node * kFanOut;
    node = first + (std::min_element(scores, scores + std::min(kFanOut, tree_->levels_[static_cast<std::size_t>(level)].nodes - first)) - scores);
  }
  return static_cast<std::uint32_t>(node);
}

/// Finds the blocks within reach of the box at work, level by level.
void NearToFar::collect_from(float reach) {
  Index count = 1;
  nodes_.assign(1, 0);
  for (Index level = std::ssize(tree_->levels_) - 1; level >= 0; --level) {
    const BlockTree::Level& nodes = tree_->levels_[static_cast<std::size_t>(level)];
    const auto room = static_cast<std::size_t>(count * kFanOut + kernels::kNearSlack);
    std::swap(groups_, nodes_);
    if (nodes_.size() < room) nodes_.resize(room);
    if (scores_.size() < room) scores_.resize(room);
    count = kernels_.within(from_.data(), nodes.boxes.data(), tree_->d_, reach, groups_.data(), count, nodes.nodes, scores_.data(), nodes_.data());
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if ((nodes_[i] ^ seed_) < seeds_) continue;
    found_.push_back(std::uint64_t{std::bit_cast<std::uint32_t>(scores_[i])} << 32 | nodes_[i]);  // scores are not negative: their bits are in order
  }
}

void NearToFar::collect(float reach) {
  collected_ = true;
  collect_from(reach);
  for (Index first = 0; several() && first * tree_->d_ < std::ssize(shifts_); first += kFanOut) {
    const Index images = std::min(kFanOut, std::ssize(shifts_) / tree_->d_ - first);
    alignas(64) float scores[kFanOut];
    kernels_.scores(box_.data(), images_.data() + first * 2 * tree_->d_, tree_->d_, scores);
    for (Index i = first == 0 ? 1 : 0; i < images; ++i) {
      if (scores[i] > reach) continue;
      move_to(first + i);
      collect_from(reach);
    }
  }
  std::ranges::sort(found_, std::greater<>{});
}

/// A block that another image met before has been seen whole.
bool NearToFar::first_visit(std::uint32_t block) { return !several() || std::exchange(seen_[block], round_) != round_; }

core::Range NearToFar::places_of(std::uint32_t block) const noexcept {
  const Index first = block * tree_->block_;
  return {first, std::min(tree_->count_, first + tree_->block_)};
}

bool NearToFar::next(float reach, core::Range& places) {
  const auto blocks = static_cast<std::uint32_t>(tree_->blocks());
  if (!collected_ && !(reach < kInfinity)) {
    for (const std::uint32_t all = std::bit_ceil(std::max(blocks, seed_ + 1)); seeds_ < all && blocks > 0;) {
      const std::uint32_t block = seed_ ^ seeds_++;
      if (block >= blocks) continue;
      places = places_of(block);
      return true;
    }
    return false;
  }
  if (blocks > 0 && !collected_) collect(reach);
  while (!found_.empty()) {
    const std::uint64_t nearest = found_.back();
    if (std::bit_cast<float>(static_cast<std::uint32_t>(nearest >> 32)) > reach) return false;
    found_.pop_back();
    if (!first_visit(static_cast<std::uint32_t>(nearest))) continue;
    places = places_of(static_cast<std::uint32_t>(nearest));
    return true;
  }
  return false;
}

}  // namespace tessera::prepare
