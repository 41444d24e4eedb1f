// SPDX-License-Identifier: Apache-2.0
// Here: random distributions, and how the library takes them. Not here: what they are at (wasserstein_oracle.hpp).
#pragma once

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "contract/wasserstein_oracle.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {

using oracle::Sampled;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Distributions laid out as the library takes them.
class Ragged {
 public:
  explicit Ragged(const std::vector<Sampled>& all) {
    const bool some = std::ranges::any_of(all, [](const Sampled& d) { return !d.weights.empty(); });
    for (const Sampled& d : all) {
      values_.insert(values_.end(), d.values.begin(), d.values.end());
      if (some) {
        weights_.insert(weights_.end(), d.weights.begin(), d.weights.end());
        weights_.resize(values_.size(), 1.0);
      }
      offsets_.push_back(std::ssize(values_));
    }
  }
  RowSet rows() const {
    const RowSet set = ragged(values_.data(), DType::f64, offsets_.data(), std::ssize(offsets_) - 1);
    return weights_.empty() ? set : weighted(set, weights_.data(), DType::f64);
  }

 private:
  std::vector<double> values_;
  std::vector<double> weights_;
  std::vector<Index> offsets_ = {0};
};

inline KnnOptions order(double p, int threads = 1) {
  return {.metric = {.metric = Metric::wasserstein, .p = p}, .distances = DistanceType::float64, .threads = threads};
}

inline std::vector<double> normal(std::mt19937_64& random, std::size_t n, double mean = 0, double scale = 1) {
  std::normal_distribution<double> draw(mean, scale);
  std::vector<double> x(n);
  for (double& v : x) v = draw(random);
  return x;
}
inline std::vector<double> whole(std::mt19937_64& random, std::size_t n, int most) {
  std::uniform_int_distribution<int> draw(0, most);
  std::vector<double> x(n);
  for (double& v : x) v = draw(random);
  return x;
}

}  // namespace tessera::testing
