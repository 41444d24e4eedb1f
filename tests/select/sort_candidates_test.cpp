// SPDX-License-Identifier: Apache-2.0
#include "select/sort_candidates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace tessera::testing {
namespace {

using core::Candidate;

TEST(SortCandidates, SortsByKeyAndIdWhateverTheKeys) {
  std::mt19937_64 random(31);
  const auto uniform = [&] { return std::uniform_real_distribution<double>(-1, 1)(random); };
  const std::function<double()> kinds[] = {
      [&] { return 100 + uniform(); },                                                             // one exponent
      [&] { return std::ldexp(uniform(), static_cast<int>(random() % 2000) - 1000); },             // all of them, both signs
      [&] { return static_cast<double>(random() % 5); },                                           // ties
      [&] { return 7.0; },                                                                         // nothing but ties
      [&] { return random() % 50 == 0 ? std::numeric_limits<double>::infinity() : 1 + 1e-15 * uniform(); },  // neighbours in the last place, and one far off
      [&] { return random() % 2 == 0 ? 0.0 : std::numeric_limits<double>::denorm_min(); },
  };
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
    for (const std::size_t count : {0, 1, 2, 511, 512, 513, 5000}) {
      std::vector<Candidate> got(count);
      for (std::size_t i = 0; i < count; ++i) got[i] = {kinds[kind](), static_cast<std::int64_t>(i)};
      std::shuffle(got.begin(), got.end(), random);
      for (std::size_t i = 3; i < count; i += 97) got[i] = Candidate{};  // padding goes last
      std::vector<Candidate> want = got;
      std::sort(want.begin(), want.end());
      std::vector<Candidate> scratch(count);
      select::sort_candidates(got, scratch);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(got[i].key, want[i].key) << "kind " << kind << ", " << count << " candidates, entry " << i;
        ASSERT_EQ(got[i].id, want[i].id) << "kind " << kind << ", " << count << " candidates, entry " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
