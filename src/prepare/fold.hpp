// SPDX-License-Identifier: Apache-2.0
// Here: what a periodic screen folds by: the lattice's brick in the units of narrowed rows. Not here: narrowing itself (narrowing.hpp).
#pragma once

#include <memory>
#include <vector>

#include "kernels/cpu/contract.hpp"
#include "metrics/lattice.hpp"
#include "prepare/narrowing.hpp"

namespace tessera::prepare {

struct Fold {
  kernels::FoldTerms terms{};
  std::vector<float> images;   // [image_count, 4], which terms point to
  bool box = true;             // Folding::box does for every threshold
  float safe = 0;              // thresholds below this need no list
  std::vector<double> shifts;  // [shifts, 3], zero first: by one of them a wrapped row comes to its nearest image

  Fold() = default;
  Fold(Fold&&) = default;      // keeps what terms point to; a copy would not
};

/// Valid for rows that `narrowing` narrows.
Fold make_fold(const metrics::Lattice& lattice, const Narrowing& narrowing);

}  // namespace tessera::prepare
