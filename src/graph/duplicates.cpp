// SPDX-License-Identifier: Apache-2.0
// Duplicate rows: grouped by a hash of their values, then compared. Values are doubles, so that a hash does not depend on
// element type or byte order.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <span>
#include <utility>

#include "io/element.hpp"
#include "tessera/graph.hpp"

namespace tessera {
namespace {

struct HashedRow {
  std::uint64_t hash;
  Index row;
};

/// out [cols]. 64-bit integers past 2^53 round: rows that differ only there would count as equal, and are refused by knn().
void decode(const RowSet& rows, Index row, std::vector<double>& out) {
  out.resize(static_cast<std::size_t>(rows.cols));
  io::decode_row(rows, row, out);
  for (double& value : out) value += 0.0;  // -0 is 0
}

/// An element in two doubles, exactly and in order: integers of 64 bits, which wasserstein takes, have two halves.
template <class T>
std::array<double, 2> halves(T value) noexcept {
  const auto wide = io::widen(value);
  if constexpr (std::same_as<decltype(wide), const double>) {
    return {wide + 0.0, 0.0};
  } else {
    return {static_cast<double>(wide >> 32), static_cast<double>(wide & 0xffffffff)};
  }
}

/// A distribution: samples and their weights in ascending order, three doubles each; those of weight 0 are none.
void decode_distribution(const RowSet& rows, Index row, std::vector<double>& out) {
  const Weights& weights = rows.weights;
  std::vector<std::array<double, 3>> samples;
  for (Index t = 0; t < rows.length(row); ++t) {
    const auto value = io::with_type(rows.dtype, [&](auto element) {
      return halves(io::load_element<decltype(element)>(rows.row(row) + t * rows.col_stride, rows.byte_swapped));
    });
    const double weight = weights.data == nullptr ? 1 : io::with_type(weights.dtype, [&](auto element) {
      return static_cast<double>(io::widen(io::load_element<decltype(element)>(rows.weights_of(row) + t * weights.col_stride, weights.byte_swapped)));
    });
    if (weight != 0) samples.push_back({value[0], value[1], weight});
  }
  out.clear();
  if (std::none_of(samples.begin(), samples.end(), [](const auto& s) { return std::isnan(s[0]) || std::isnan(s[2]); })) std::sort(samples.begin(), samples.end());
  for (const auto& sample : samples) out.insert(out.end(), sample.begin(), sample.end());
}

/// splitmix64's multiplier and a shift per element: cheap, and a collision only costs a comparison.
std::uint64_t hash_of(const std::vector<double>& values) noexcept {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (const double value : values) {
    hash ^= std::bit_cast<std::uint64_t>(value);
    hash *= 0xbf58476d1ce4e5b9;
    hash ^= hash >> 32;
  }
  return hash;
}

/// Rows of one hash, in ascending order: those equal to an earlier one.
Index count_in_group(const RowSet& rows, std::span<const HashedRow> group, decltype(decode)& decode_as) {
  std::vector<std::vector<double>> seen;
  std::vector<double> values;
  Index duplicates = 0;
  for (const HashedRow& entry : group) {
    decode_as(rows, entry.row, values);
    const bool found = std::any_of(seen.begin(), seen.end(), [&](const auto& other) { return other == values; });
    if (found) {
      ++duplicates;
    } else {
      seen.push_back(values);
    }
  }
  return duplicates;
}

}  // namespace

Index count_duplicate_rows(const RowSet& rows, bool distributions) {
  auto& decode_as = distributions ? decode_distribution : decode;
  std::vector<HashedRow> hashed;
  hashed.reserve(static_cast<std::size_t>(rows.rows));
  std::vector<double> values;
  for (Index row = 0; row < rows.rows; ++row) {
    decode_as(rows, row, values);
    if (values.empty() || std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); })) continue;
    hashed.push_back({hash_of(values), row});
  }
  std::sort(hashed.begin(), hashed.end(),
            [](const HashedRow& a, const HashedRow& b) { return std::pair(a.hash, a.row) < std::pair(b.hash, b.row); });
  Index duplicates = 0;
  for (std::size_t first = 0, last = 0; first < hashed.size(); first = last) {
    while (last < hashed.size() && hashed[last].hash == hashed[first].hash) ++last;
    if (last - first > 1) duplicates += count_in_group(rows, std::span(hashed).subspan(first, last - first), decode_as);
  }
  return duplicates;
}

}  // namespace tessera
