// SPDX-License-Identifier: Apache-2.0
// Here: W_p from its definition, and the canonical sum from docs/numerics.md, in plain loops that share nothing with the library.
#pragma once

#include <vector>

namespace tessera::oracle {

/// A distribution as a user writes it down; no weights: all samples weigh the same.
struct Sampled {
  std::vector<double> values;
  std::vector<double> weights{};
};

/// The L_p norm of the difference of quantile functions, in long double; p may be infinite. Segments narrower than `narrowest` of
/// the whole don't count for p = infinity.
long double wasserstein(const Sampled& a, const Sampled& b, double p, long double narrowest = 0);

/// The canonical value of two sets of samples without weights, for p = 1, 2, infinity and integers above 2.
double canonical_wasserstein(std::vector<double> a, std::vector<double> b, double p);

}  // namespace tessera::oracle
