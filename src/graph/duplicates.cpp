// SPDX-License-Identifier: Apache-2.0
// Duplicate rows: grouped by a hash of their values, then compared. Values are doubles, so that a hash does not depend on
// element type or byte order.
#include <algorithm>
#include <bit>
#include <cmath>
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
  io::decode_row(rows, row, out);
  for (double& value : out) value += 0.0;  // -0 is 0
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
Index count_in_group(const RowSet& rows, std::span<const HashedRow> group) {
  std::vector<std::vector<double>> seen;
  std::vector<double> values(static_cast<std::size_t>(rows.cols));
  Index duplicates = 0;
  for (const HashedRow& entry : group) {
    decode(rows, entry.row, values);
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

Index count_duplicate_rows(const RowSet& rows) {
  std::vector<HashedRow> hashed;
  hashed.reserve(static_cast<std::size_t>(rows.rows));
  std::vector<double> values(static_cast<std::size_t>(rows.cols));
  for (Index row = 0; row < rows.rows; ++row) {
    decode(rows, row, values);
    if (std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); })) continue;
    hashed.push_back({hash_of(values), row});
  }
  std::sort(hashed.begin(), hashed.end(),
            [](const HashedRow& a, const HashedRow& b) { return std::pair(a.hash, a.row) < std::pair(b.hash, b.row); });
  Index duplicates = 0;
  for (std::size_t first = 0, last = 0; first < hashed.size(); first = last) {
    while (last < hashed.size() && hashed[last].hash == hashed[first].hash) ++last;
    if (last - first > 1) duplicates += count_in_group(rows, std::span(hashed).subspan(first, last - first));
  }
  return duplicates;
}

}  // namespace tessera
