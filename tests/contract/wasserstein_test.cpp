// SPDX-License-Identifier: Apache-2.0
// W_p through the API: the shared cases, its definition, its canonical bits, and what must hold of any distance.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "contract/ragged.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

double distance(const RowSet& a, const RowSet& b, double p, int threads = 1) { return knn(a, b, 1, order(p, threads)).distances64.at(0); }
double distance(const Sampled& a, const Sampled& b, double p) { return distance(Ragged({a}).rows(), Ragged({b}).rows(), p); }

// --- the shared cases ------------------------------------------------------------------------------------------------------------

std::vector<double> numbers(const nlohmann::json& list) { return list.get<std::vector<double>>(); }

double parse_p(const std::string& text) { return text == "inf" ? kInfinity : std::stod(text); }

TEST(WassersteinCases, AreAnsweredAsWritten) {
  const auto cases = nlohmann::json::parse(std::ifstream(TESSERA_TEST_DATA "/cases/wasserstein.json"))["cases"];
  ASSERT_GE(cases.size(), 7u);
  for (const auto& c : cases) {
    Sampled a{numbers(c["a"])};
    Sampled b{numbers(c["b"])};
    if (c.contains("a_weights")) a.weights = numbers(c["a_weights"]);
    if (c.contains("b_weights")) b.weights = numbers(c["b_weights"]);
    const Ragged x({a});
    const Ragged y({b});
    for (const auto& [p, want] : c["w"].items()) {
      for (const std::string& isa : isas()) {
        SCOPED_TRACE(fmt::format("{}, p {}, {}", c["name"].get<std::string>(), p, isa));
        const ForcedIsa forced(isa);
        for (const int threads : {1, 2}) {
          const double tolerance = std::max(c.value("tolerance", 0.0), 2e-16) * std::max(1.0, want.get<double>());
          EXPECT_NEAR(distance(x.rows(), y.rows(), parse_p(p), threads), want.get<double>(), tolerance);
          EXPECT_EQ(distance(y.rows(), x.rows(), parse_p(p), threads), distance(x.rows(), y.rows(), parse_p(p), threads));
        }
      }
    }
  }
}

TEST(WassersteinCases, TakeTheirOwnType) {
  const std::int64_t values[] = {0, 1, 0, 9'000'000'000};
  const Index offsets[] = {0, 2, 4};
  const RowSet rows = ragged(values, DType::i64, offsets, 2);
  EXPECT_EQ(distance(slice(rows, 0, 1), slice(rows, 1, 2), 1), 4499999999.5);
}

// --- the definition --------------------------------------------------------------------------------------------------------------

constexpr double kOrders[] = {1, 1.5, 2, 2.5, 3, 7, 540, kInfinity};

TEST(Wasserstein, IsTheNormOfTheDifferenceOfQuantiles) {
  std::mt19937_64 random(1);
  for (const std::string& isa : isas()) {
    const ForcedIsa forced(isa);
    for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{1, 1}, {1, 5}, {7, 7}, {16, 16}, {17, 33}, {100, 99}, {64, 1000}, {257, 513}}) {
      for (const double p : kOrders) {
        SCOPED_TRACE(fmt::format("{}, {} and {} samples, p {}", isa, n, m, p));
        const Sampled a{normal(random, n)};
        const Sampled b{normal(random, m, 1, 2)};
        const auto want = static_cast<double>(oracle::wasserstein(a, b, p));
        EXPECT_NEAR(distance(a, b, p), want, 1e-13 * want);
        const Sampled wa{a.values, whole(random, n, 3)};
        Sampled wb{b.values, normal(random, m)};
        for (double& w : wb.weights) w = std::fabs(w);
        if (std::accumulate(wa.weights.begin(), wa.weights.end(), 0.0) == 0) continue;
        const auto weighted_want = static_cast<double>(oracle::wasserstein(wa, wb, p, 1e-13L));
        EXPECT_NEAR(distance(wa, wb, p), weighted_want, 1e-11 * weighted_want);
      }
    }
  }
}

TEST(Wasserstein, HasItsCanonicalBits) {
  std::mt19937_64 random(2);
  for (const std::string& isa : isas()) {
    const ForcedIsa forced(isa);
    for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{5, 5}, {48, 48}, {3, 8}, {100, 60}, {61, 100}, {1000, 1000}, {999, 1000}, {123, 4567}}) {
      for (const double p : {1.0, 2.0, kInfinity}) {
        const std::vector<double> a = normal(random, n, 1e6);
        const std::vector<double> b = normal(random, m, 1e6);
        EXPECT_EQ(distance(Sampled{a}, Sampled{b}, p), oracle::canonical_wasserstein(a, b, p)) << isa << " " << n << " " << m << " " << p;
      }
      for (const double p : {3.0, 540.0}) {  // the last root may differ by its own rounding
        const std::vector<double> a = normal(random, n);
        const std::vector<double> b = normal(random, m);
        EXPECT_NEAR(distance(Sampled{a}, Sampled{b}, p), oracle::canonical_wasserstein(a, b, p), 5e-16 * 8);
      }
    }
  }
}

TEST(Wasserstein, StoresFloatsAsFloatsWithTheSameBits) {
  std::mt19937_64 random(3);
  std::vector<float> a(300), b(411);
  for (auto* set : {&a, &b}) {
    for (float& x : *set) x = static_cast<float>(std::normal_distribution<double>(5, 3)(random));
  }
  const std::vector<double> wide_a(a.begin(), a.end());
  const std::vector<double> wide_b(b.begin(), b.end());
  for (const double p : kOrders) {
    EXPECT_EQ(distance(dense(a.data(), 1, 300), dense(b.data(), 1, 411), p), distance(Sampled{wide_a}, Sampled{wide_b}, p));
    EXPECT_EQ(distance(dense(a.data(), 1, 300), dense(wide_b.data(), 1, 411), p), distance(Sampled{wide_a}, Sampled{wide_b}, p));
  }
}

// --- integers --------------------------------------------------------------------------------------------------------------------

TEST(Wasserstein, IsExactOnFewDistinctIntegers) {
  std::mt19937_64 random(4);
  for (const std::string& isa : isas()) {
    const ForcedIsa forced(isa);
    for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{1000, 1000}, {1000, 777}, {40, 1000}, {3000, 20}}) {
      const std::vector<double> a = whole(random, n, 9);
      const std::vector<double> b = whole(random, m, 7);
      const std::vector<std::uint8_t> bytes_a(a.begin(), a.end());
      const std::vector<std::uint8_t> bytes_b(b.begin(), b.end());
      for (const double p : {1.0, 2.0, 3.0, kInfinity}) {
        const double got = distance(dense(bytes_a.data(), 1, static_cast<Index>(n)), dense(bytes_b.data(), 1, static_cast<Index>(m)), p);
        EXPECT_EQ(got, distance(Sampled{a}, Sampled{b}, p));
        if (p != 3) {
          EXPECT_EQ(got, oracle::canonical_wasserstein(a, b, p)) << n << " " << m << " " << p;
        }
        EXPECT_NEAR(got, static_cast<double>(oracle::wasserstein({a}, {b}, p)), 4e-16 * 10);
      }
      // Past exact sums, runs are counted out again.
      EXPECT_NEAR(distance(Sampled{a}, Sampled{b}, 60), oracle::canonical_wasserstein(a, b, 60), 1e-14);
      EXPECT_NEAR(distance(Sampled{a}, Sampled{b}, 1.25), static_cast<double>(oracle::wasserstein({a}, {b}, 1.25)), 1e-14);
    }
  }
}

TEST(Wasserstein, TakesIntegersOfAnyWidth) {
  const std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t unsigned_values[] = {top, top - 1, top - 2, 0, top, 1};
  EXPECT_EQ(distance(dense(unsigned_values, DType::u64, 1, 2), dense(unsigned_values + 1, DType::u64, 1, 2), 1), 1);
  EXPECT_EQ(distance(dense(unsigned_values + 3, DType::u64, 1, 1), dense(unsigned_values, DType::u64, 1, 1), 1), 0x1p64);
  const std::int64_t low = std::numeric_limits<std::int64_t>::min();
  const std::int64_t signed_values[] = {low, low + 1, low + 3};
  EXPECT_EQ(distance(dense(signed_values, DType::i64, 1, 1), dense(signed_values + 1, DType::i64, 1, 1), 2), 1);
  EXPECT_EQ(distance(dense(signed_values, DType::i64, 1, 1), dense(signed_values + 2, DType::i64, 1, 1), kInfinity), 3);
  EXPECT_EQ(distance(dense(signed_values, DType::i64, 1, 1), dense(unsigned_values, DType::u64, 1, 1), 1), 0x1.8p64);  // 2^63 + 2^64 - 1, rounded
  const std::uint8_t small[] = {7};
  EXPECT_EQ(distance(dense(unsigned_values, DType::u64, 1, 1), dense(small, 1, 1), 1), 0x1p64);
  const double half[] = {0.5};
  EXPECT_THROW(distance(dense(unsigned_values, DType::u64, 1, 1), dense(half, 1, 1), 1), Error);
}

// --- weights and histograms ------------------------------------------------------------------------------------------------------

TEST(Wasserstein, WithEqualWeightsIsWithout) {
  std::mt19937_64 random(5);
  const std::vector<double> a = normal(random, 60);
  const std::vector<double> b = normal(random, 84);
  for (const double p : kOrders) {
    const double want = distance(Sampled{a}, Sampled{b}, p);
    EXPECT_EQ(distance(Sampled{a, std::vector<double>(60, 0.1)}, Sampled{b, std::vector<double>(84, 3.7)}, p), want);
  }
}

TEST(Wasserstein, DoesNotDependOnTheScaleOfWeightsNorOnTheOrderOfSamples) {
  std::mt19937_64 random(6);
  Sampled a{whole(random, 200, 20), normal(random, 200)};
  for (double& w : a.weights) w = std::fabs(w);
  const Sampled b{normal(random, 150, 9), whole(random, 150, 5)};
  Sampled mixed;
  std::vector<std::size_t> places(200);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::shuffle(places.begin(), places.end(), random);
  for (const std::size_t i : places) {
    mixed.values.push_back(a.values[i]);
    mixed.weights.push_back(a.weights[i]);
  }
  Sampled thrice = b;
  for (double& w : thrice.weights) w *= 0.75;
  for (const double p : kOrders) {
    const double want = distance(a, b, p);
    EXPECT_EQ(distance(mixed, b, p), want);
    EXPECT_EQ(distance(a, thrice, p), want);
    EXPECT_EQ(distance(b, mixed, p), want);
  }
}

/// Samples of small types are stored in float32, weighted atoms in double: the answers are those of float64 samples.
template <class T>
void expect_same_as_doubles(DType dtype) {
  std::mt19937_64 random(8);
  constexpr Index kAtoms = 100;
  constexpr Index kRows = 40;
  std::vector<T> narrow;
  std::vector<double> wide, weights;
  std::vector<Index> offsets = {0};
  for (Index i = 0; i < kRows; ++i) {
    for (const double v : whole(random, static_cast<std::size_t>(kAtoms + i), 100)) {
      narrow.push_back(static_cast<T>(v));
      wide.push_back(v);
      weights.push_back(1 + std::fabs(normal(random, 1)[0]));
    }
    offsets.push_back(std::ssize(wide));
  }
  const RowSet small = weighted(ragged(narrow.data(), dtype, offsets.data(), kRows), weights.data(), DType::f64);
  const RowSet large = weighted(ragged(wide.data(), DType::f64, offsets.data(), kRows), weights.data(), DType::f64);
  for (const double p : kOrders) {
    const Neighbours got = knn(small, small, 5, order(p));
    const Neighbours want = knn(large, large, 5, order(p));
    EXPECT_EQ(got.ids, want.ids);
    EXPECT_EQ(got.distances64, want.distances64);
  }
}

TEST(Wasserstein, TakesWeightedSamplesOfEveryWidth) {
  expect_same_as_doubles<float>(DType::f32);
  expect_same_as_doubles<std::uint8_t>(DType::u8);
  expect_same_as_doubles<std::int16_t>(DType::i16);
  expect_same_as_doubles<std::int64_t>(DType::i64);
}

TEST(Wasserstein, TakesHistograms) {
  const std::uint32_t counts[] = {3, 0, 1, 0, 2, 2};
  const double support[] = {-1, 0.5, 10};
  const RowSet rows = histograms(support, dense(counts, DType::u32, 2, 3));
  const double want = static_cast<double>(oracle::wasserstein({{-1, -1, -1, 10}}, {{0.5, 0.5, 10, 10}}, 2));
  EXPECT_NEAR(distance(slice(rows, 0, 1), slice(rows, 1, 2), 2), want, 1e-15 * want);
  EXPECT_EQ(distance(slice(rows, 1, 2), slice(rows, 0, 1), 1), (1.5 + 1.5 + 11 + 0) / 4);
}

TEST(Wasserstein, MeetsWeightsPastTheIntegersOfDouble) {
  // Totals whose product is beyond 2^53: positions are 128-bit integers, and no sliver is left where both end together.
  const double big = 0x1p40 + 1;
  const Sampled a{{0, 10}, {big, big * 3}};
  const Sampled b{{0, 10}, {big * 5, big * 15 + 0}};
  EXPECT_EQ(distance(a, b, kInfinity), 0);
  const Sampled c{{0, 10}, {big - 2, 3 * big + 2}};
  EXPECT_EQ(distance(a, c, kInfinity), 10);
  EXPECT_NEAR(distance(a, c, 1), 10 * (2 / (4 * big)), 1e-25);
}

// --- extremes --------------------------------------------------------------------------------------------------------------------

TEST(Wasserstein, NeitherOverflowsNorUnderflows) {
  for (const double scale : {1e-300, 1e-170, 1.0, 1e120, 1e148}) {
    const Sampled a{{1 * scale, 2 * scale, 3 * scale, 54 * scale}};
    const Sampled b{{1 * scale, 2 * scale, 3 * scale, 4 * scale}};
    for (const double p : kOrders) {
      const auto want = static_cast<double>(oracle::wasserstein(a, b, p));
      EXPECT_NEAR(distance(a, b, p), want, 2e-14 * want) << scale << " " << p;
    }
  }
  EXPECT_EQ(distance(Sampled{{0, 1}}, Sampled{{1e-200, 1}}, 2), 1e-200 * std::sqrt(0.5));
}

TEST(Wasserstein, IsTranslatedFarAway) {
  std::mt19937_64 random(7);
  const std::vector<double> a = whole(random, 50, 100);
  const std::vector<double> b = whole(random, 70, 100);
  std::vector<double> far_a = a, far_b = b;
  for (auto* set : {&far_a, &far_b}) {
    for (double& x : *set) x = 2 * x + 1e16;
  }
  for (const double p : {1.0, 2.0, kInfinity}) EXPECT_EQ(distance(Sampled{far_a}, Sampled{far_b}, p), 2 * distance(Sampled{a}, Sampled{b}, p));
}

TEST(Wasserstein, IsAMetric) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 20; ++round) {
    const Sampled a{normal(random, 40)};
    const Sampled b{normal(random, 55, 0.3)};
    const Sampled c{normal(random, 71, -0.2, 2)};
    for (const double p : kOrders) {
      EXPECT_EQ(distance(a, b, p), distance(b, a, p));
      EXPECT_EQ(distance(a, a, p), 0);
      EXPECT_LE(distance(a, c, p), (distance(a, b, p) + distance(b, c, p)) * (1 + 1e-13));
    }
    EXPECT_LE(distance(a, b, 1), distance(a, b, 2));
    EXPECT_LE(distance(a, b, 2), distance(a, b, kInfinity));
  }
}

// --- lists -----------------------------------------------------------------------------------------------------------------------

std::vector<Sampled> many(std::mt19937_64& random, std::size_t count) {
  std::vector<Sampled> all;
  std::uniform_real_distribution<double> spot(-3, 3);
  for (std::size_t i = 0; i < count; ++i) all.push_back({normal(random, 5 + i % 23, spot(random), 1 + 0.1 * static_cast<double>(i % 7))});
  return all;
}

/// Distances of single pairs, [queries, base].
std::vector<std::vector<double>> one_by_one(const std::vector<Sampled>& queries, const std::vector<Sampled>& base, double p) {
  std::vector<std::vector<double>> all;
  for (const Sampled& q : queries) {
    all.emplace_back();
    for (const Sampled& b : base) all.back().push_back(distance(q, b, p));
  }
  return all;
}

/// Ids by (distance, id).
void expect_sorted(const Neighbours& got, const std::vector<std::vector<double>>& distances, bool exclude) {
  for (std::size_t q = 0; q < distances.size(); ++q) {
    std::vector<std::pair<double, std::int64_t>> all;
    for (std::size_t i = 0; i < distances[q].size(); ++i) {
      if (!exclude || i != q) all.emplace_back(distances[q][i], static_cast<std::int64_t>(i));
    }
    std::sort(all.begin(), all.end());
    for (Index j = 0; j < got.k; ++j) {
      const auto s = q * static_cast<std::size_t>(got.k) + static_cast<std::size_t>(j);
      ASSERT_EQ(got.ids[s], all[static_cast<std::size_t>(j)].second) << "query " << q << ", entry " << j;
      ASSERT_EQ(got.distances64[s], all[static_cast<std::size_t>(j)].first);
    }
  }
}

TEST(WassersteinTopK, FindsTheNearestDistributions) {
  std::mt19937_64 random(9);
  const std::vector<Sampled> base = many(random, 60);
  const std::vector<Sampled> queries = many(random, 15);
  const Ragged b(base);
  const Ragged q(queries);
  for (const double p : {1.0, 2.0, 3.5, kInfinity}) {
    const auto apart = one_by_one(queries, base, p);
    const auto among = one_by_one(base, base, p);
    for (const Schedule schedule : {Schedule::by_query, Schedule::by_base}) {
      KnnOptions options = order(p, 2);
      options.schedule = schedule;
      options.tile = 16;
      expect_sorted(knn(q.rows(), b.rows(), 7, options), apart, false);
      options.self = SelfMode::exclude;
      expect_sorted(knn(b.rows(), b.rows(), 7, options), among, true);
      options.memory = 14000;  // in segments
      const Neighbours streamed = knn(b.rows(), b.rows(), 7, options);
      EXPECT_GT(streamed.report.segments, 1);
      expect_sorted(streamed, among, true);
    }
  }
}

// --- matrices ------------------------------------------------------------------------------------------------------------------

TEST(WassersteinTopK, TellsSetsApartThatShareTheirSamples) {
  std::mt19937_64 random(78);
  const std::vector<double> values = normal(random, 60);
  const std::vector<double> equal(60, 1.0);
  std::vector<double> rising(60);
  std::iota(rising.begin(), rising.end(), 1.0);
  const Index tens[] = {0, 10, 20, 30, 40, 50, 60};
  const Index other[] = {0, 5, 20, 30, 40, 50, 60};
  const auto rows = [&](const double* samples, const Index* offsets, const std::vector<double>& weights) {
    return weighted(ragged(samples, DType::f64, offsets, 6), weights.data(), DType::f64);
  };
  const std::vector<double> copy = values;  // elsewhere in memory: nothing can be taken for it
  for (const Index* offsets : std::initializer_list<const Index*>{tens, other}) {
    for (const auto* weights : std::initializer_list<const std::vector<double>*>{&equal, &rising}) {
      const Neighbours shared = knn(rows(values.data(), offsets, *weights), rows(values.data(), tens, equal), 6, order(1));
      const Neighbours apart = knn(rows(values.data(), offsets, *weights), rows(copy.data(), tens, equal), 6, order(1));
      EXPECT_EQ(shared.ids, apart.ids);
      EXPECT_EQ(shared.distances64, apart.distances64);
    }
  }
}

TEST(WassersteinMatrix, HoldsTheDistancesOfSinglePairs) {
  std::mt19937_64 random(10);
  std::vector<Sampled> all = many(random, 37);
  for (std::size_t i = 0; i < 5; ++i) all.push_back({normal(random, 9000 + 7 * i)});  // long enough to be taken in slices
  all.push_back({normal(random, 3000), whole(random, 3000, 9)});
  const Ragged set(all);
  const auto row = [&](std::size_t i) { return slice(set.rows(), static_cast<Index>(i), static_cast<Index>(i) + 1); };
  for (const double p : {1.0, 2.0, 3.5, kInfinity}) {
    std::vector<std::pair<std::size_t, double>> some;  // of the matrix, on the widest instruction set
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < all.size(); j += 1 + i % 5) some.emplace_back(i * all.size() + j, distance(row(i), row(j), p));
    }
    for (const std::string& isa : isas()) {
      const ForcedIsa forced(isa);
      for (const Index tile : {0, 7}) {
        if (isa == "scalar" && (p != 1 || tile != 0)) continue;  // fma is software there
        DistanceArray array;
        const DistanceReport report = distance_matrix(
            set.rows(), {.metric = {.metric = Metric::wasserstein, .p = p}, .dtype = DType::f64, .tile_rows = tile, .tile_cols = tile, .threads = 2}, array);
        EXPECT_EQ(report.form, "canonical");
        for (const auto& [at, want] : some) ASSERT_EQ(array.doubles()[at], want) << isa << " " << at / all.size() << " " << at % all.size() << " p " << p;
        for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(array.doubles()[i * all.size() + i], 0);
      }
    }
  }
}

TEST(WassersteinMatrix, IsRoundedOnce) {
  std::mt19937_64 random(11);
  const Ragged x(many(random, 9));
  const Ragged y(many(random, 5));
  DistanceArray wide, narrow;
  distance_matrix(x.rows(), y.rows(), {.metric = {.metric = Metric::wasserstein}, .dtype = DType::f64}, wide);
  distance_matrix(x.rows(), y.rows(), {.metric = {.metric = Metric::wasserstein}}, narrow);
  for (std::size_t i = 0; i < 45; ++i) EXPECT_EQ(narrow.floats()[i], static_cast<float>(wide.doubles()[i]));
}

// --- the door --------------------------------------------------------------------------------------------------------------------

template <class Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::internal, "");
}

void expect_message(const Error& error, ErrorCode code, std::initializer_list<std::string_view> parts) {
  EXPECT_EQ(error.code(), code) << error.what();
  for (const std::string_view part : parts) EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
}

TEST(WassersteinInput, NamesTheDistributionAndTheSample) {
  const Ragged good({{{1, 2}}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto base = [&](std::vector<Sampled> all) { return error_of([&] { distance(good.rows(), Ragged(all).rows(), 1); }); };
  expect_message(base({{{1}}, {{1, 2, nan}}, {{kInfinity}}}), ErrorCode::malformed_input, {"base: distribution 1, sample 2", "NaN", "2 distributions"});
  expect_message(base({{{1}}, {{}}}), ErrorCode::malformed_input, {"base: distribution 1 is empty"});
  expect_message(base({{{1}}, {{1, 0x1p501}}}), ErrorCode::malformed_input, {"distribution 1, sample 1", "2^500"});
  expect_message(base({{{1}, {1}}, {{1, 2}, {1, -1}}}), ErrorCode::malformed_input, {"distribution 1, sample 1", "weight"});
  expect_message(base({{{1}, {1}}, {{1, 2}, {1, nan}}}), ErrorCode::malformed_input, {"distribution 1, sample 1", "weight"});
  expect_message(base({{{1, 2}, {0, 0}}}), ErrorCode::malformed_input, {"distribution 0", "weights"});
}

TEST(WassersteinInput, SkipsWhatHasNoAnswer) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Ragged base({{{1}}, {{nan}}, {{}}, {{2, 3}}});
  KnnOptions options = order(1);
  options.nan = NanPolicy::skip;
  const Neighbours got = knn(base.rows(), base.rows(), 3, options);
  EXPECT_EQ(got.ids, (std::vector<std::int64_t>{0, 3, -1, -1, -1, -1, -1, -1, -1, 3, 0, -1}));
  EXPECT_EQ(got.report.skipped_base, 2);
  EXPECT_EQ(got.report.skipped_queries, 2);
}

TEST(WassersteinInput, IsRefusedByOtherMetricsAndWhenItDoesNotFit) {
  const Ragged set({{{1}}, {{2, 3}}});
  expect_message(error_of([&] { knn(set.rows(), set.rows(), 1); }), ErrorCode::invalid_argument, {"ragged", "l2"});
  expect_message(error_of([&] { distance(set.rows(), set.rows(), 0.5); }), ErrorCode::invalid_argument, {"p is 0.5"});
  expect_message(error_of([&] { distance(set.rows(), set.rows(), std::nan("")); }), ErrorCode::invalid_argument, {"p is nan"});
  const Index backwards[] = {0, 2, 1};
  const double values[] = {1, 2};
  const RowSet wrong{.data = values, .dtype = DType::f64, .rows = 2, .cols = 2, .col_stride = 8, .offsets = backwards};
  expect_message(error_of([&] { distance(wrong, wrong, 1); }), ErrorCode::invalid_argument, {"offset 2 is 1"});
}

}  // namespace
}  // namespace tessera::testing
