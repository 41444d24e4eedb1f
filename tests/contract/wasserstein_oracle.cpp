// SPDX-License-Identifier: Apache-2.0
#include "contract/wasserstein_oracle.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>

namespace tessera::oracle {
namespace {

/// The quantile function as steps: values, and where each ends in [0, 1].
struct Steps {
  std::vector<long double> values;
  std::vector<long double> ends;
};

Steps steps_of(const Sampled& d) {
  std::vector<std::size_t> order(d.values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return d.values[i] < d.values[j]; });
  long double total = 0;
  for (std::size_t i = 0; i < order.size(); ++i) total += d.weights.empty() ? 1.0L : static_cast<long double>(d.weights[i]);
  Steps steps;
  long double sum = 0;
  for (const std::size_t i : order) {
    const long double w = d.weights.empty() ? 1.0L : static_cast<long double>(d.weights[i]);
    if (w == 0) continue;
    sum += w;
    steps.values.push_back(static_cast<long double>(d.values[i]));
    steps.ends.push_back(sum / total);
  }
  steps.ends.back() = 1;
  return steps;
}

double root(double x, double p) { return p == 1 ? x : p == 2 ? std::sqrt(x) : static_cast<double>(std::pow(static_cast<long double>(x), 1 / static_cast<long double>(p))); }

}  // namespace

long double wasserstein(const Sampled& a, const Sampled& b, double p, long double narrowest) {
  const Steps x = steps_of(a);
  const Steps y = steps_of(b);
  struct Segment {
    long double width, difference;
  };
  std::vector<Segment> segments;
  long double from = 0;
  long double largest = 0;
  for (std::size_t i = 0, j = 0; i < x.ends.size() && j < y.ends.size();) {
    const long double to = std::min(x.ends[i], y.ends[j]);
    segments.push_back({to - from, std::fabs(x.values[i] - y.values[j])});
    if (to - from > narrowest) largest = std::max(largest, segments.back().difference);
    from = to;
    const bool next_a = x.ends[i] <= to;
    const bool next_b = y.ends[j] <= to;
    i += next_a ? 1 : 0;
    j += next_b ? 1 : 0;
  }
  if (std::isinf(p)) return largest;
  long double top = 0;
  for (const Segment& s : segments) top = s.width > 0 ? std::max(top, s.difference) : top;
  if (top == 0) return 0;
  long double sum = 0;
  for (const Segment& s : segments) sum += s.width * std::pow(s.difference / top, static_cast<long double>(p));
  return top * std::pow(sum, 1 / static_cast<long double>(p));
}

double canonical_wasserstein(std::vector<double> a, std::vector<double> b, double p) {
  if (a.size() > b.size()) std::swap(a, b);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const auto n = static_cast<std::int64_t>(a.size());
  const auto m = static_cast<std::int64_t>(b.size());
  struct Segment {
    std::int64_t t;
    double width, difference;
  };
  std::vector<Segment> segments;
  for (std::int64_t j = 0; j < m; ++j) {
    const auto uj = static_cast<std::size_t>(j);
    if (n == m) {
      segments.push_back({j, 1.0, std::fabs(a[uj] - b[uj])});
      continue;
    }
    const std::int64_t i = j * n / m;
    const std::int64_t first = std::min((i + 1) * m, (j + 1) * n) - j * n;
    segments.push_back({2 * j, static_cast<double>(first), std::fabs(a[static_cast<std::size_t>(i)] - b[uj])});
    segments.push_back({2 * j + 1, static_cast<double>(n - first), std::fabs(a[static_cast<std::size_t>(std::min(i + 1, n - 1))] - b[uj])});
  }
  double largest = 0;
  for (const Segment& s : segments) largest = s.width > 0 ? std::max(largest, s.difference) : largest;
  if (std::isinf(p) || largest == 0) return largest;
  const double divisor = p > 2 ? largest : 1;
  std::array<double, 16> lanes{};
  for (const Segment& s : segments) {
    double term = s.difference / divisor;
    if (p == 2) term = term * term;
    if (p > 2) {  // binary powers, from the lowest bit
      double square = term;
      term = 1;
      for (auto e = static_cast<unsigned>(p); e != 0; e /= 2) {
        if (e % 2 == 1) term = term * square;
        square = square * square;
      }
    }
    double& lane = lanes[static_cast<std::size_t>(s.t % 16)];
    lane = std::fma(s.width, term, lane);
  }
  for (std::size_t w = 8; w > 0; w /= 2) {
    for (std::size_t j = 0; j < w; ++j) lanes[j] += lanes[j + w];
  }
  const double total = n == m ? static_cast<double>(n) : static_cast<double>(n) * static_cast<double>(m);
  return divisor * root((lanes[0] + 0.0) / total, p);
}

}  // namespace tessera::oracle
