// SPDX-License-Identifier: Apache-2.0
// Here: answers compared to the last bit.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "contract/oracle.hpp"
#include "tessera/result.hpp"

namespace tessera::testing {

inline ::testing::AssertionResult same_entry(const Neighbours& got, const oracle::Answer& want, std::size_t s) {
  const bool wide = !got.distances64.empty();
  const double w = want.distances[s];
  const double g = wide ? got.distances64[s] : static_cast<double>(got.distances[s]);
  const bool same = wide ? std::bit_cast<std::uint64_t>(g) == std::bit_cast<std::uint64_t>(w)
                         : std::bit_cast<std::uint32_t>(got.distances[s]) == std::bit_cast<std::uint32_t>(static_cast<float>(w));
  if (same && got.ids[s] == want.ids[s]) return ::testing::AssertionSuccess();
  const auto k = static_cast<std::size_t>(want.k);
  return ::testing::AssertionFailure() << fmt::format("query {} entry {}: got id {} at {:a} ({}), want id {} at {:a} ({})", s / k, s % k, got.ids[s], g, g,
                                                      want.ids[s], w, w);
}

/// Ids and distances bit for bit; distances in whichever type was asked for.
inline ::testing::AssertionResult same_bits(const Neighbours& got, const oracle::Answer& want) {
  if (got.ids.size() != want.ids.size() || got.distances.size() + got.distances64.size() != want.ids.size() || got.k != want.k) {
    return ::testing::AssertionFailure() << fmt::format("sizes: {} ids, {} + {} distances, k {}; want {} and k {}", got.ids.size(), got.distances.size(),
                                                        got.distances64.size(), got.k, want.ids.size(), want.k);
  }
  for (std::size_t s = 0; s < want.ids.size(); ++s) {
    if (auto result = same_entry(got, want, s); !result) return result;
  }
  return ::testing::AssertionSuccess();
}

/// Two answers of the library: everything but the report, bit for bit.
inline ::testing::AssertionResult same_bits(const Neighbours& got, const Neighbours& want) {
  auto equal = [](const auto& a, const auto& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
  };
  if (got.rows != want.rows || got.k != want.k) return ::testing::AssertionFailure() << "shapes differ";
  if (!equal(got.ids, want.ids)) {
    for (std::size_t s = 0; s < got.ids.size(); ++s) {
      if (got.ids[s] != want.ids[s]) return ::testing::AssertionFailure() << fmt::format("slot {}: id {} and {}", s, got.ids[s], want.ids[s]);
    }
  }
  if (!equal(got.distances, want.distances) || !equal(got.distances64, want.distances64)) return ::testing::AssertionFailure() << "distances differ";
  return ::testing::AssertionSuccess();
}

}  // namespace tessera::testing
