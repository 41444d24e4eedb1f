// SPDX-License-Identifier: Apache-2.0
#include "prepare/fold.hpp"

#include <limits>

#include "metrics/bound.hpp"

namespace tessera::prepare {
namespace {

// Folding in fp32 may put a component this much past half the brick, relatively: images nearer than that are found without the list.
constexpr double kSafeMargin = 1 - 0x1p-10;

}  // namespace

Fold make_fold(const metrics::Lattice& lattice, const Narrowing& narrowing) {
  Fold fold;
  const auto scaled = [&](double value) { return static_cast<float>(value * narrowing.scale); };
  for (int a = 0; a < 3; ++a) {
    const bool open = a >= lattice.rank;
    fold.terms.edge[a] = open ? std::numeric_limits<float>::infinity() : scaled(lattice.brick[a][a]);
    fold.terms.inverse[a] = open ? 0.0f : 1 / fold.terms.edge[a];
  }
  fold.terms.yx = scaled(lattice.brick[1][0]);
  fold.terms.zx = scaled(lattice.brick[2][0]);
  fold.terms.zy = scaled(lattice.brick[2][1]);
  for (const metrics::LatticeImage& image : lattice.shorter) {
    for (const double t : image.t) fold.images.push_back(scaled(t));
    fold.images.push_back(scaled(image.norm2 * narrowing.scale));
  }
  fold.terms.images = fold.images.data();
  fold.terms.image_count = static_cast<std::int32_t>(lattice.shorter.size());
  fold.box = lattice.orthogonal;
  const double half = 0.5 * lattice.smallest_edge * narrowing.scale * kSafeMargin;
  for (const metrics::LatticeImage& image : metrics::images_between(lattice)) {
    for (const double t : image.t) fold.shifts.push_back(t * narrowing.scale);
  }
  fold.safe = metrics::float_down(half * half);
  return fold;
}

}  // namespace tessera::prepare
