// SPDX-License-Identifier: Apache-2.0
#include "prepare/int8_pays.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "prepare/narrowing.hpp"

namespace tessera::prepare {
namespace {

constexpr Index kRows = 512;
constexpr Index kQueries = 32;
// A survivor costs a row of memory and a sum in double, about a hundred pairs' worth of screening; 8 bits save a third of that. A sample's
// nearest row lies further out than that of a whole base, so real searches keep a smaller share, but for large k.
constexpr double kMostSurvivors = 0.015;

struct SampledRow {
  Index number;
  std::vector<double> row;  // [padded]
  NarrowedRow narrow;
};

/// Some rows as their side of the screen sees them; those without a bound are left out.
template <class Narrow>
std::vector<SampledRow> sample(const RowReader& reader, Index wanted, Narrow narrow) {
  const Index padded = reader.padded();
  const Index n = reader.rows().rows;
  std::vector<SampledRow> rows;
  for (Index i = 0; i < n; i += std::max<Index>(1, n / wanted)) {
    SampledRow r{.number = i, .row = std::vector<double>(static_cast<std::size_t>(padded)), .narrow = {}};
    reader.read_raw(i, r.row.data());
    const kernels::RowScan seen = reader.kernels().scan(r.row.data(), padded);
    if (!seen.finite || (reader.unit_rows() && seen.max_abs == 0)) continue;
    reader.read(i, r.row.data());
    r.narrow = narrow(r.row.data());
    rows.push_back(std::move(r));
  }
  return rows;
}

struct Pair {
  double z;
  double lowest;  // that z may be, as far as the screen knows
};

/// Share of the sampled rows that one query's screen would keep, were the rank-th nearest of them its threshold.
double survivors_of(const SampledRow& query, Index own_row, const std::vector<SampledRow>& rows, Index rank, double largest_norm, const Narrowing& narrowing,
                    const RowReader& reader, const metrics::MetricTraits& traits) {
  if (query.narrow.bypass) return 1;
  const auto sum = reader.kernels().canonical[static_cast<int>(traits.canonical)];
  const double reach = metrics::score_reach(narrowing.bound, query.narrow.terms);
  const double own = narrowing.factor * query.narrow.terms.residual * largest_norm;
  std::vector<Pair> pairs;
  for (const SampledRow& other : rows) {
    if (other.number == own_row) continue;
    const double z = traits.z_of_key(traits.key(sum(query.row.data(), other.row.data(), reader.padded()))) * narrowing.bound.z_scale;
    pairs.push_back({z, other.narrow.bypass ? -std::numeric_limits<double>::infinity() : z - reach * other.narrow.terms.residual - own});
  }
  const Index at = std::min(rank, std::ssize(pairs)) - 1;
  std::nth_element(pairs.begin(), pairs.begin() + at, pairs.end(), [](const Pair& a, const Pair& b) { return a.z < b.z; });
  const double threshold = pairs[static_cast<std::size_t>(at)].z;
  const auto kept = std::ranges::count_if(pairs, [&](const Pair& p) { return !(p.lowest > threshold); });
  return static_cast<double>(kept) / static_cast<double>(pairs.size());
}

}  // namespace

bool int8_pays(const RowReader& base, const RowReader* queries, Index k, const metrics::MetricTraits& traits) {
  const Narrowing narrowing = choose_narrowing(base, traits, Screen::int8, 1.0);
  std::vector<float> out(static_cast<std::size_t>(base.padded()));
  const auto rows = sample(base, kRows, [&](const double* row) { return narrow_base_row(narrowing, base.kernels(), row, base.padded(), out.data()); });
  const RowReader& asking = queries != nullptr ? *queries : base;
  const bool whole = is_short_integer(asking.rows().dtype);
  const auto asked = sample(asking, kQueries, [&](const double* row) { return narrow_query_row(narrowing, base.kernels(), row, base.padded(), out.data(), whole); });
  if (std::ssize(rows) < kRows / 2 || asked.empty()) return false;
  double largest_norm = 0;
  for (const SampledRow& r : rows) largest_norm = std::max(largest_norm, r.narrow.terms.norm);
  const auto share = static_cast<double>(k) / static_cast<double>(base.rows().rows);
  const Index rank = 1 + static_cast<Index>(share * static_cast<double>(rows.size()));
  double survivors = 0;
  for (const SampledRow& query : asked) {
    survivors += survivors_of(query, queries != nullptr ? Index{-1} : query.number, rows, rank, largest_norm, narrowing, base, traits);
  }
  return survivors / static_cast<double>(asked.size()) <= kMostSurvivors;
}

}  // namespace tessera::prepare
