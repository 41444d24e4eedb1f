// SPDX-License-Identifier: Apache-2.0
#include "select/best_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tessera::testing {
namespace {

using core::Candidate;
using select::BestList;

/// On both sides of the length up to which lists are kept in order.
constexpr Index kLengths[] = {1, 2, 15, BestList::kSorted, BestList::kSorted + 1, 200};

TEST(BestList, KeepsTheFirstByKeyAndIdWhateverTheOrder) {
  std::mt19937_64 random(5);
  for (const Index k : kLengths) {
    for (const Index count : {Index{0}, k - 1, k, 7 * k + 3}) {
      std::vector<Candidate> all;
      for (Index i = 0; i < count; ++i) all.push_back({static_cast<double>(random() % static_cast<std::uint64_t>(k + 1)), i});  // many ties
      std::shuffle(all.begin(), all.end(), random);
      std::vector<Candidate> memory(static_cast<std::size_t>(BestList::room(k)));
      BestList list;
      list.reset(k, memory.data());
      for (const Candidate& c : all) {
        if (list.wants(c)) list.add(c);
      }
      all.resize(std::max<std::size_t>(all.size(), static_cast<std::size_t>(k)));  // padding
      std::sort(all.begin(), all.end());
      const Candidate* got = list.finish();
      for (Index i = 0; i < k; ++i) {
        ASSERT_EQ(got[i].key, all[static_cast<std::size_t>(i)].key) << "k " << k << ", " << count << " candidates, entry " << i;
        ASSERT_EQ(got[i].id, all[static_cast<std::size_t>(i)].id);
      }
    }
  }
}

TEST(BestList, NeverDismissesWhatBelongsToTheBestAndLowersItsThreshold) {
  for (const Index k : kLengths) {
    std::vector<Candidate> memory(static_cast<std::size_t>(BestList::room(k)));
    for (Index i = 0; i < k; ++i) memory[static_cast<std::size_t>(i)] = {1000.0 + static_cast<double>(i), i};
    BestList list;
    list.reset(k, memory.data());
    EXPECT_EQ(list.threshold(), 1000.0 + static_cast<double>(k - 1));
    EXPECT_FALSE(list.wants({list.threshold(), k}));  // ties with the last, larger id
    for (Index i = 0; i < 2 * k; ++i) {
      const Candidate c{static_cast<double>(2 * k - i), k + 1 + i};
      ASSERT_TRUE(list.wants(c)) << "k " << k;
      list.add(c);
    }
    EXPECT_LE(list.threshold(), k <= BestList::kSorted ? static_cast<double>(k) : 2.0 * static_cast<double>(k));
    EXPECT_EQ(list.finish()[0].key, 1.0);
    EXPECT_EQ(list.finish()[k - 1].key, static_cast<double>(k));
  }
}

}  // namespace
}  // namespace tessera::testing
