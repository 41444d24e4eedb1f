// SPDX-License-Identifier: Apache-2.0
// Here: test tables in which every pair of levels of every two factors occurs, without the full product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace tessera::testing {

/// The pairs of levels that a table has not met yet.
class OpenPairs {
 public:
  explicit OpenPairs(const std::vector<int>& levels) : levels_(levels) {
    for (const int l : levels_) {
      offsets_.push_back(total_);
      total_ += static_cast<std::size_t>(l);
    }
    open_.assign(total_ * total_, false);
    for (std::size_t a = 0; a < levels_.size(); ++a) {
      for (std::size_t b = a + 1; b < levels_.size(); ++b) {
        for (int i = 0; i < levels_[a]; ++i) {
          for (int j = 0; j < levels_[b]; ++j) open_[slot(a, i, b, j)] = true;
        }
      }
    }
  }

  int count(const std::vector<int>& row) const { return visit(row, [](auto&&) {}); }
  void close(const std::vector<int>& row) {
    visit(row, [&](std::size_t s) { open_[s] = false; });
  }
  /// Any open pair, looked for from a random place; false when none is left.
  bool any(std::mt19937_64& random, std::vector<int>& row) const {
    const std::size_t start = random() % open_.size();
    for (std::size_t n = 0; n < open_.size(); ++n) {
      const std::size_t s = (start + n) % open_.size();
      if (!open_[s]) continue;
      set(s / total_, row);
      set(s % total_, row);
      return true;
    }
    return false;
  }

 private:
  std::size_t slot(std::size_t a, int i, std::size_t b, int j) const {
    return (offsets_[a] + static_cast<std::size_t>(i)) * total_ + offsets_[b] + static_cast<std::size_t>(j);
  }
  template <class Seen>
  int visit(const std::vector<int>& row, Seen seen) const {
    int n = 0;
    for (std::size_t a = 0; a < levels_.size(); ++a) {
      for (std::size_t b = a + 1; b < levels_.size(); ++b) {
        const std::size_t s = slot(a, row[a], b, row[b]);
        if (!open_[s]) continue;
        ++n;
        seen(s);
      }
    }
    return n;
  }
  void set(std::size_t place, std::vector<int>& row) const {
    std::size_t f = offsets_.size() - 1;
    while (offsets_[f] > place) --f;
    row[f] = static_cast<int>(place - offsets_[f]);
  }

  std::vector<int> levels_;
  std::vector<std::size_t> offsets_;
  std::size_t total_ = 0;
  std::vector<bool> open_;
};

/// levels[f] is the number of levels of factor f. Greedy: each row is the best of a few random ones that close an open pair.
inline std::vector<std::vector<int>> pairwise(const std::vector<int>& levels, std::uint64_t seed) {
  constexpr int kTries = 30;
  std::mt19937_64 random(seed);
  OpenPairs open(levels);
  std::vector<std::vector<int>> table;
  for (;;) {
    std::vector<int> best;
    int best_count = 0;
    for (int t = 0; t < kTries; ++t) {
      std::vector<int> row;
      for (const int l : levels) row.push_back(static_cast<int>(random() % static_cast<unsigned>(l)));
      if (!open.any(random, row)) return table;
      if (const int n = open.count(row); n > best_count) {
        best = row;
        best_count = n;
      }
    }
    open.close(best);
    table.push_back(best);
  }
}

}  // namespace tessera::testing
