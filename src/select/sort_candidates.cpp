// SPDX-License-Identifier: Apache-2.0
#include "select/sort_candidates.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace tessera::select {
namespace {

using core::Candidate;

constexpr std::size_t kFew = 512;  // below, counting costs more than comparing
constexpr int kDigitBits = 11;     // counts of 8 KiB stay in L1
constexpr std::uint64_t kDigitMask = (1u << kDigitBits) - 1;

/// Bits of a double in an order of integers.
std::uint64_t ordered(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

/// The leading bits of keys, those that all share left out.
struct Digits {
  std::uint64_t least;
  int shift;

  std::uint64_t of(const Candidate& c) const noexcept { return (ordered(c.key) - least) >> shift; }
};

Digits digits_of(std::span<const Candidate> candidates) noexcept {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  for (const Candidate& c : candidates) {
    least = std::min(least, ordered(c.key));
    most = std::max(most, ordered(c.key));
  }
  return {least, std::max(0, static_cast<int>(std::bit_width(most - least)) - 2 * kDigitBits)};
}

/// One stable pass by the digit that starts at `right`.
void spread(std::span<const Candidate> from, const Digits& digits, int right, Candidate* to) noexcept {
  std::array<std::uint32_t, kDigitMask + 1> starts{};
  for (const Candidate& c : from) ++starts[digits.of(c) >> right & kDigitMask];
  std::uint32_t sum = 0;
  for (std::uint32_t& s : starts) sum += std::exchange(s, sum);
  for (const Candidate& c : from) to[starts[digits.of(c) >> right & kDigitMask]++] = c;
}

}  // namespace

void sort_candidates(std::span<Candidate> candidates, std::span<Candidate> scratch) noexcept {
  if (candidates.size() < kFew || candidates.size() > scratch.size() || candidates.size() > ~std::uint32_t{0}) return std::sort(candidates.begin(), candidates.end());
  const Digits digits = digits_of(candidates);
  spread(candidates, digits, 0, scratch.data());
  spread(scratch.first(candidates.size()), digits, kDigitBits, candidates.data());
  // What shares its digits: ties, and keys closer together than the digits tell.
  for (auto first = candidates.begin(); first != candidates.end();) {
    const std::uint64_t shared = digits.of(*first);
    auto last = first + 1;
    while (last != candidates.end() && digits.of(*last) == shared) ++last;
    if (last - first > 1) std::sort(first, last);
    first = last;
  }
}

}  // namespace tessera::select
