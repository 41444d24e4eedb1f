// SPDX-License-Identifier: Apache-2.0
// The shared cases of tests/data/cases/topk.json: each query alone and among 1,024 copies, on one and two threads, on every
// instruction set. A case or a key that is not understood here fails, so that new ones are not ignored in silence.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "contract/compare.hpp"
#include "contract/oracle.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

using nlohmann::json;

constexpr Index kCopies = 1024;

double number(const json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string word = value.get<std::string>();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  throw std::runtime_error("not a number: " + word);
}

Matrix matrix(const json& rows) {
  Matrix m{std::ssize(rows), rows.empty() ? 0 : std::ssize(rows[0]), {}};
  for (const json& row : rows) {
    for (const json& value : row) m.values.push_back(number(value));
  }
  return m;
}

/// A case as the API takes it.
struct Case {
  DType dtype = DType::f32;
  Matrix base;
  Matrix queries;
  Metric metric = Metric::sqeuclidean;
  SelfMode self = SelfMode::none;
  NanPolicy nan = NanPolicy::error;
  std::vector<Index> ks;
};

Case read_case(const json& j) {
  Case c;
  if (j.contains("dtype")) c.dtype = parse_dtype(j["dtype"].get<std::string>()).value();
  if (j.contains("base")) c.base = matrix(j["base"]);
  if (j.contains("queries")) c.queries = matrix(j["queries"]);
  if (j.contains("metric")) c.metric = parse_metric(j["metric"].get<std::string>()).value();
  if (j.contains("self")) c.self = parse_self_mode(j["self"].get<std::string>()).value();
  if (j.contains("nan")) c.nan = j["nan"].get<std::string>() == "skip" ? NanPolicy::skip : NanPolicy::error;
  if (j["k"].is_array()) {
    c.ks = j["k"].get<std::vector<Index>>();
  } else {
    c.ks = {j["k"].get<Index>()};
  }
  if (j.contains("base_generator")) {
    if (j["base_generator"] != "1000 rows of one zero") throw std::runtime_error("unknown base generator");
    c.base = zeros(1000, 1);
  }
  return c;
}

/// Every copy's list has the bits that the query gets alone.
void expect_copies(const Neighbours& copies, const Neighbours& alone) {
  ASSERT_EQ(copies.ids.size(), static_cast<std::size_t>(kCopies) * alone.ids.size());
  const auto n = static_cast<std::ptrdiff_t>(alone.ids.size());
  Index wrong = 0;
  for (Index c = 0; c < kCopies; ++c) {
    const bool same = std::equal(alone.ids.begin(), alone.ids.end(), copies.ids.begin() + c * n) &&
                      std::memcmp(alone.distances64.data(), copies.distances64.data() + c * n, alone.distances64.size() * sizeof(double)) == 0;
    wrong += same ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0) << "of " << kCopies << " copies";
}

/// Calls check(answer, query) for every query alone; outside self modes its copies have to get the same bits.
template <class Check>
void for_each_way(const Case& c, const Stored& base, const Stored& queries, Index k, KnnOptions options, Check check) {
  const RowSet all = c.self == SelfMode::none ? queries.rows() : base.rows();
  for (const std::string& isa : isas()) {
    const ForcedIsa forced(isa);
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(fmt::format("{}, threads {}, k {}", isa, threads, k));
      options.threads = threads;
      for (Index q = 0; q < all.rows; ++q) {
        const RowSet alone = slice(all, q, q + 1);
        const Neighbours answer = knn(alone, base.rows(), k, options);
        check(answer, q);
        if (c.self != SelfMode::none) continue;  // copies would need copies of the id
        RowSet copies = alone;
        copies.rows = kCopies;
        copies.row_stride = 0;
        expect_copies(knn(copies, base.rows(), k, options), answer);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

KnnOptions options_of(const Case& c) {
  return {.metric = {c.metric}, .self = c.self, .nan = c.nan, .distances = DistanceType::float64};
}

/// The library against the case's own words.
void check_ids(const json& ids, const Neighbours& got, Index q) {
  for (std::size_t s = 0; s < got.ids.size(); ++s) {
    const auto j = static_cast<Index>(s);
    const std::int64_t want = ids.is_string() ? j : ids.at(static_cast<std::size_t>(q)).at(static_cast<std::size_t>(j)).get<std::int64_t>();
    ASSERT_EQ(got.ids[s], want) << "query " << q << ", entry " << j;
  }
}

void check_distances(const json& distances, double tolerance, const Neighbours& got, Index q) {
  for (std::size_t s = 0; s < got.distances64.size(); ++s) {
    const auto j = static_cast<Index>(s);
    const double want = number(distances.at(static_cast<std::size_t>(q)).at(static_cast<std::size_t>(j)));
    if (std::isinf(want) || tolerance == 0) {
      ASSERT_EQ(got.distances64[s], want) << "query " << q << ", entry " << j;
    } else {
      ASSERT_NEAR(got.distances64[s], want, tolerance) << "query " << q << ", entry " << j;
    }
  }
}

void check_listed(const json& j, const Case& c) {
  const Stored base(c.base, c.dtype);
  const Stored queries(c.queries, c.dtype);
  const double tolerance = j.value("tolerance", 0.0);
  ASSERT_TRUE(!j["ids"].is_string() || j["ids"] == "0..k-1") << "ids are not understood";
  for (const Index k : c.ks) {
    const RowSet all = c.self == SelfMode::none ? queries.rows() : base.rows();
    const oracle::Answer want = oracle::knn(all, base.rows(), {.metric = c.metric, .self = c.self, .skip_nan = c.nan == NanPolicy::skip, .k = k});
    for_each_way(c, base, queries, k, options_of(c), [&](const Neighbours& got, Index q) {
      check_ids(j["ids"], got, q);
      if (j.contains("distances")) check_distances(j["distances"], tolerance, got, q);
      for (std::size_t s = 0; s < got.ids.size(); ++s) {
        const std::size_t w = static_cast<std::size_t>(q * k) + s;
        ASSERT_EQ(got.ids[s], want.ids[w]);
        ASSERT_EQ(std::bit_cast<std::uint64_t>(got.distances64[s]), std::bit_cast<std::uint64_t>(want.distances[w]));
      }
    });
    if (!j.contains("distances_l2")) continue;
    Case l2 = c;
    l2.metric = Metric::l2;
    for_each_way(l2, base, queries, k, options_of(l2), [&](const Neighbours& got, Index q) {
      check_ids(j["ids"], got, q);
      check_distances(j["distances_l2"], tolerance, got, q);
    });
  }
}

/// Rows of the generator's three kinds: offset, two clusters, copies.
Matrix adversarial(char kind, Index rows, std::mt19937_64& random) {
  Matrix m = make(Kind::normal, rows, 96, random);
  for (Index i = 0; i < rows; ++i) {
    for (Index t = 0; t < 96; ++t) {
      if (kind == 'a') m.row(i)[t] += 1000;
      if (kind == 'c') m.row(i)[t] += i % 2 == 0 ? 0.0 : 100.0;
      if (kind == 'e') m.row(i)[t] = m.row(i % 40)[t];
    }
  }
  return m;
}

void check_adversarial(const json& j, Case c) {
  ASSERT_EQ(j["generator"], "n=4000, d=96, seeds 1..5, each against the double oracle: (a) N(0,1)+1000; (c) two clusters 100 apart; (e) 100 copies of each of 40 rows");
  for (const char kind : {'a', 'c', 'e'}) {
    for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
      SCOPED_TRACE(fmt::format("kind {}, seed {}", kind, seed));
      std::mt19937_64 random(seed);
      const Matrix rows = adversarial(kind, 4000, random);
      Matrix some = adversarial(kind, 1, random);
      if (seed % 2 == 0) std::copy_n(rows.row(17), 96, some.row(0));  // a query that is a base row
      const Stored base(rows, c.dtype);
      const Stored queries(some, c.dtype);
      const Index k = c.ks.at(0);
      const oracle::Answer want = oracle::knn(queries.rows(), base.rows(), {.metric = c.metric, .k = k});
      for_each_way(c, base, queries, k, options_of(c), [&](const Neighbours& got, Index q) {
        for (std::size_t s = 0; s < got.ids.size(); ++s) {
          const std::size_t w = static_cast<std::size_t>(q * k) + s;
          ASSERT_EQ(got.ids[s], want.ids[w]) << "query " << q << ", slot " << s;
          ASSERT_EQ(std::bit_cast<std::uint64_t>(got.distances64[s]), std::bit_cast<std::uint64_t>(want.distances[w]));
        }
      });
      if (::testing::Test::HasFailure()) return;
    }
  }
}

const json& cases() {
  static const json all = json::parse(std::ifstream(TESSERA_TEST_DATA "/cases/topk.json"))["cases"];
  return all;
}

class SharedCase : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SharedCase, IsAnsweredAsWritten) {
  const json& j = cases()[GetParam()];
  const std::set<std::string> known = {"name", "base", "queries", "k", "ids", "distances", "distances_l2", "tolerance", "metric", "self", "nan", "dtype",
                                       "base_generator", "generator", "note"};
  for (const auto& [key, value] : j.items()) ASSERT_TRUE(known.contains(key)) << "the key " << key << " is not understood";
  if (!j.contains("generator")) return check_listed(j, read_case(j));
  if (j["name"] == "adversarial_for_screens") return check_adversarial(j, read_case(j));
  FAIL() << "the generator of " << j["name"] << " is not written here";
}

INSTANTIATE_TEST_SUITE_P(TopK, SharedCase, ::testing::Range<std::size_t>(0, cases().size()),
                         [](const auto& p) { return cases()[p.param]["name"].template get<std::string>(); });

TEST(SharedCases, OverflowOnlyWhatIsReported) {
  const float base[] = {5e20f, -1e20f};
  const float query[] = {1e20f};
  const Neighbours got = knn(dense(query, 1, 1), dense(base, 2, 1), 2, {.metric = {Metric::sqeuclidean}});
  EXPECT_EQ(got.ids, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(got.distances, (std::vector<float>(2, std::numeric_limits<float>::infinity())));
}

}  // namespace
}  // namespace tessera::testing
