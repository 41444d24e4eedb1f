// SPDX-License-Identifier: Apache-2.0
// Full matrices against the oracle: within the proven bound, symmetric, and the same bytes for every plan and instruction set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "contract/oracle.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

constexpr std::uint64_t kSeed = 20261201;
constexpr double kBound = 2e-5;
constexpr double kProductBound = 4e-6;
constexpr Metric kMetrics[] = {Metric::l2, Metric::sqeuclidean, Metric::inner_product, Metric::cosine, Metric::l1, Metric::linf};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Rows as the metric takes them, read once.
struct Rows {
  Rows(const RowSet& set, Metric metric) {
    for (Index i = 0; i < set.rows; ++i) {
      raw.push_back(oracle::read_row(set, i, Metric::l2));
      row.push_back(oracle::read_row(set, i, metric));
      zero.push_back(std::ranges::all_of(raw.back(), [](double v) { return v == 0; }));
    }
  }
  std::vector<std::vector<double>> raw;
  std::vector<std::vector<double>> row;
  std::vector<bool> zero;
};

double canonical(Metric metric, const Rows& x, Index i, const Rows& y, Index j, bool self) {
  const auto a = static_cast<std::size_t>(i);
  const auto b = static_cast<std::size_t>(j);
  if (metric == Metric::cosine && (x.zero[a] || y.zero[b])) return self && i == j ? 0.0 : 1.0;
  const double sum = oracle::canonical_sum(metric, x.row[a], y.row[b]);
  if (metric == Metric::cosine) return std::min(2.0, 0.5 * sum);
  return metric == Metric::l2 ? std::sqrt(sum) : sum;
}

double norm(const std::vector<double>& row) {
  long double sum = 0;
  for (const double v : row) sum += static_cast<long double>(v) * v;
  return static_cast<double>(std::sqrt(sum));
}

DistanceOptions options_for(Metric metric) {
  DistanceOptions options;
  options.metric.metric = metric;
  options.memory = std::uint64_t{256} << 20;
  return options;
}

DistanceArray evaluate(const RowSet& x, const RowSet* y, const DistanceOptions& options) {
  DistanceArray out;
  if (y != nullptr) {
    distance_matrix(x, *y, options, out);
  } else {
    distance_matrix(x, options, out);
  }
  return out;
}

bool same_bytes(const DistanceArray& a, const DistanceArray& b) { return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0; }

/// The largest error in units of the bound; above 1 the value is wrong.
double worst(Metric metric, const RowSet& x_set, const RowSet& y_set, bool self, const DistanceArray& got) {
  const Rows x(x_set, metric);
  const Rows y(y_set, metric);
  double largest = 0;
  for (Index i = 0; i < x_set.rows; ++i) {
    for (Index j = 0; j < y_set.rows; ++j) {
      const double v = got.floats()[i * y_set.rows + j];
      const double c = canonical(metric, x, i, y, j, self);
      if (static_cast<float>(c) == v) continue;
      if (metric != Metric::inner_product && v < 0) return kInfinity;
      const double scale = metric == Metric::inner_product
                               ? kProductBound * norm(x.raw[static_cast<std::size_t>(i)]) * norm(y.raw[static_cast<std::size_t>(j)])
                               : kBound * c;
      const double error = std::abs(v - c) / (scale + 0x1p-149);
      if (!(error <= largest)) largest = std::isnan(error) ? kInfinity : error;
    }
  }
  return largest;
}

void adapt(Matrix& m, DType dtype) {
  for (double& v : m.values) {
    if (is_integer(dtype)) v *= 40;
    if (dtype == DType::f16) v = std::clamp(v, -6e4, 6e4);
    if (dtype == DType::f32) v = std::clamp(v, -3e38, 3e38);
  }
}

TEST(Matrix, every_value_of_every_kind_of_data_is_within_the_proven_bound_on_every_instruction_set) {
  std::mt19937_64 random(kSeed);
  constexpr DType kTypes[] = {DType::f32, DType::f64, DType::u8, DType::f16};
  constexpr Index kCols[] = {1, 3, 15, 16, 33, 64, 65, 150, 200};
  double largest = 0;
  int turn = 0;
  for (int kind = 0; kind < kHurtfulCount; ++kind) {
    for (const Metric metric : kMetrics) {
      const DType dtype = kTypes[turn % 4];
      const Index d = kCols[turn % 9];
      ++turn;
      Matrix mx = hurtful(kind, 53, d, random);
      Matrix my = hurtful(kind, 101, d, random);
      adapt(mx, dtype);
      adapt(my, dtype);
      const Stored x(mx, dtype);
      const Stored y(my, dtype);
      const bool self = turn % 2 == 0;
      const RowSet& columns = self ? x.rows() : y.rows();
      DistanceArray first;
      for (const std::string& isa : isas()) {
        const ForcedIsa forced(isa);
        const DistanceArray got = evaluate(x.rows(), self ? nullptr : &y.rows(), options_for(metric));
        const double error = worst(metric, x.rows(), columns, self, got);
        ASSERT_LE(error, 1) << fmt::format("kind {}, {}, {}, d {}, {}{}", kind, name_of(metric), name_of(dtype), d, isa, self ? ", self" : "");
        largest = std::max(largest, error);
        if (first.bytes() == 0) {
          first = got;
        } else {
          EXPECT_TRUE(same_bytes(first, got)) << fmt::format("kind {}, {}, {}, d {}: {} gives other bytes", kind, name_of(metric), name_of(dtype), d, isa);
        }
      }
    }
  }
  RecordProperty("largest_error_in_bounds", fmt::format("{:.3f}", largest));
}

TEST(Matrix, a_self_matrix_is_bitwise_symmetric_with_a_zero_diagonal) {
  std::mt19937_64 random(kSeed + 1);
  for (const Metric metric : kMetrics) {
    for (int kind = 0; kind < kKindCount; ++kind) {
      const Matrix m = make(static_cast<Kind>(kind), 61, 40, random);
      const DistanceArray got = evaluate(m.view(), nullptr, options_for(metric));
      for (Index i = 0; i < m.rows; ++i) {
        for (Index j = 0; j < m.rows; ++j) {
          ASSERT_EQ(std::memcmp(got.floats() + i * m.rows + j, got.floats() + j * m.rows + i, 4), 0)
              << name_of(metric) << " " << name_of(static_cast<Kind>(kind)) << " " << i << " " << j;
        }
        if (metric != Metric::inner_product) {
          EXPECT_EQ(got.floats()[i * m.rows + i], 0.0f) << name_of(metric) << " " << name_of(static_cast<Kind>(kind)) << " " << i;
        }
      }
    }
  }
}

TEST(Matrix, bytes_do_not_depend_on_tiles_threads_memory_or_shards) {
  std::mt19937_64 random(kSeed + 2);
  const Stored x(make(Kind::normal, 300, 100, random), DType::f32);
  for (const Metric metric : {Metric::cosine, Metric::l2, Metric::l1}) {
    const DistanceArray want = evaluate(x.rows(), nullptr, options_for(metric));
    for (const Index tile : {Index{64}, Index{37}, Index{1}, Index{1000}}) {
      for (const int threads : {1, 2}) {
        DistanceOptions options = options_for(metric);
        options.tile_rows = tile;
        options.tile_cols = tile;
        options.threads = threads;
        EXPECT_TRUE(same_bytes(evaluate(x.rows(), nullptr, options), want)) << name_of(metric) << " tile " << tile << " threads " << threads;
        options.tile_cols = tile + 11;
        EXPECT_TRUE(same_bytes(evaluate(x.rows(), nullptr, options), want)) << name_of(metric) << " tile " << tile << " x " << tile + 11;
      }
    }
    // The columns as a set of their own: same centre, same values.
    EXPECT_TRUE(same_bytes(evaluate(x.rows(), &x.rows(), options_for(metric)), want)) << name_of(metric) << " as two sets";
    DistanceArray banded;
    for (Index shard = 0; shard < 3; ++shard) {
      DistanceOptions options = options_for(metric);
      options.tile_rows = 16;
      options.shard = shard;
      options.shards = 3;
      distance_matrix(x.rows(), options, banded);
    }
    EXPECT_TRUE(same_bytes(banded, want)) << name_of(metric) << " in shards";
  }
}

TEST(Matrix, columns_in_segments_change_no_byte) {
  std::mt19937_64 random(kSeed + 7);
  const Stored x(make(Kind::normal, 40, 512, random), DType::f32);
  const Stored y(make(Kind::normal, 1700, 512, random), DType::f32);
  DistanceOptions options = options_for(Metric::l2);
  const DistanceArray want = evaluate(x.rows(), &y.rows(), options);
  options.threads = 1;
  options.memory = std::uint64_t{6} << 20;
  DistanceArray got;
  EXPECT_GT(distance_matrix(x.rows(), y.rows(), options, got).segments, 1);
  EXPECT_TRUE(same_bytes(got, want));
}

TEST(Matrix, whole_numbers_stored_as_floats_give_exact_squares) {
  std::mt19937_64 random(kSeed + 8);
  Matrix m = zeros(200, 32);
  for (double& v : m.values) v = static_cast<double>(random() % 50);
  const Stored x(m, DType::f32);
  const DistanceArray got = evaluate(x.rows(), nullptr, options_for(Metric::sqeuclidean));
  const Rows rows(x.rows(), Metric::sqeuclidean);
  for (Index i = 0; i < 200; ++i) {
    for (Index j = 0; j < 200; ++j) ASSERT_EQ(got.floats()[i * 200 + j], canonical(Metric::sqeuclidean, rows, i, rows, j, true)) << i << " " << j;
  }
}

TEST(Matrix, computing_each_pair_once_changes_no_byte) {
  std::mt19937_64 random(kSeed + 3);
  const Stored x(make(Kind::normal, 210, 900, random), DType::f32);
  DistanceOptions halves = options_for(Metric::sqeuclidean);
  halves.threads = 1;
  halves.metric.metric = Metric::sqeuclidean;
  ASSERT_EQ(plan_distances(x.rows(), halves).schedule, "each pair once");
  DistanceOptions bands = halves;
  bands.tile_rows = 50;
  bands.tile_cols = 70;
  ASSERT_EQ(plan_distances(x.rows(), bands).schedule, "row bands");
  EXPECT_TRUE(same_bytes(evaluate(x.rows(), nullptr, halves), evaluate(x.rows(), nullptr, bands)));
}

TEST(Matrix, exact_and_float64_values_are_the_canonical_ones_rounded_once) {
  std::mt19937_64 random(kSeed + 4);
  for (const Metric metric : kMetrics) {
    const Matrix mx = make(Kind::zero_rows, 20, 33, random);
    const Matrix my = make(Kind::normal, 50, 33, random);
    const Rows x(mx.view(), metric);
    const Rows y(my.view(), metric);
    const RowSet columns = my.view();
    DistanceOptions options = options_for(metric);
    options.exact = true;
    const DistanceArray single = evaluate(mx.view(), &columns, options);
    options.dtype = DType::f16;
    const DistanceArray half = evaluate(mx.view(), &columns, options);
    options.exact = false;
    options.dtype = DType::f64;
    const DistanceArray wide = evaluate(mx.view(), &columns, options);
    const auto* halves = reinterpret_cast<const std::uint16_t*>(half.data());
    for (Index i = 0; i < mx.rows; ++i) {
      for (Index j = 0; j < my.rows; ++j) {
        const double want = canonical(metric, x, i, y, j, false);
        const Index at = i * my.rows + j;
        ASSERT_EQ(wide.doubles()[at], want) << name_of(metric) << " " << i << " " << j;
        ASSERT_EQ(single.floats()[at], static_cast<float>(want)) << name_of(metric) << " " << i << " " << j;
        ASSERT_EQ(halves[at], half_bits(want)) << name_of(metric) << " " << i << " " << j << " " << want;
      }
    }
  }
}

TEST(Matrix, float16_values_are_the_float32_ones_rounded) {
  std::mt19937_64 random(kSeed + 5);
  const Stored x(make(Kind::normal, 130, 70, random), DType::f32);
  for (const std::string& isa : isas()) {
    const ForcedIsa forced(isa);
    DistanceOptions options = options_for(Metric::l2);
    const DistanceArray single = evaluate(x.rows(), nullptr, options);
    options.dtype = DType::f16;
    const DistanceArray half = evaluate(x.rows(), nullptr, options);
    const auto* halves = reinterpret_cast<const std::uint16_t*>(half.data());
    for (Index i = 0; i < 130 * 130; ++i) ASSERT_EQ(halves[i], half_bits(single.floats()[i])) << isa << " " << i;
  }
}

TEST(Matrix, a_value_past_float16_is_an_error_that_names_the_entry) {
  const std::vector<double> fits = {0, 65504};
  const std::vector<double> past = {0, 70000};
  for (const bool exact : {false, true}) {
    DistanceOptions options = options_for(Metric::l1);
    options.dtype = DType::f16;
    options.exact = exact;
    EXPECT_NO_THROW(evaluate(dense(fits.data(), 2, 1), nullptr, options));
    try {
      evaluate(dense(past.data(), 2, 1), nullptr, options);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::malformed_input);
      EXPECT_TRUE(std::string(error.what()).starts_with("entry (0, 1) is 70000") || std::string(error.what()).starts_with("entry (1, 0) is 70000")) << error.what();
    }
  }
}

/// Rows whose dot product loses 61 terms of just below half a last place behind a leading 1, and whose distance is what the dot
/// form may still vouch for. They attain most of the bound: a bound half as wide would be broken.
TEST(Matrix, data_built_to_attain_the_bound_comes_near_it_and_stays_below) {
  struct Attempt {
    Metric metric;
    double apart;
  };
  for (const auto& [metric, apart] : {Attempt{Metric::sqeuclidean, 0.5}, Attempt{Metric::l2, 1.0 / 3}, Attempt{Metric::inner_product, 0.0}}) {
    constexpr Index d = 64;
    const double small = std::ldexp(static_cast<double>(static_cast<float>(0.99995)), -12);  // its square is below 2^-24
    Matrix x = zeros(1, d);
    Matrix y = zeros(2, d);  // a row and its negative, so that the centre is 0
    for (Index t = 0; t < d; ++t) x.row(0)[t] = y.row(0)[t] = t == 0 ? 1 : small;
    if (apart > 0) {
      x.row(0)[d - 2] = apart + 1e-4;  // a little over the limit
      x.row(0)[d - 1] = 0;
      y.row(0)[d - 2] = 0;
      y.row(0)[d - 1] = apart + 1e-4;
    }
    for (Index t = 0; t < d; ++t) y.row(1)[t] = -y.row(0)[t];
    const Stored xs(x, DType::f32);
    const Stored ys(y, DType::f32);
    const DistanceArray got = evaluate(xs.rows(), &ys.rows(), options_for(metric));
    const double error = worst(metric, xs.rows(), ys.rows(), false, got);
    EXPECT_LE(error, 1) << name_of(metric);
    EXPECT_GT(error, 0.6) << name_of(metric) << ": the data no longer attain the bound";
  }
}

TEST(Matrix, a_batch_is_the_matrix_of_its_own_rows_and_lengths_cut_it_short) {
  std::mt19937_64 random(kSeed + 6);
  constexpr Index kBatches = 5;
  constexpr Index kRows = 30;
  Matrix m = make(Kind::normal, kBatches * kRows, 24, random);
  for (double& v : m.values) v += 3;
  const std::vector<Index> lengths = {30, 7, 0, 1, 29};
  Matrix holes = m;
  for (Index b = 0; b < kBatches; ++b) {
    for (Index i = lengths[static_cast<std::size_t>(b)]; i < kRows; ++i) std::fill_n(holes.row(b * kRows + i), 24, std::nan(""));
  }
  DistanceOptions options = options_for(Metric::cosine);
  options.batches = kBatches;
  const DistanceArray all = evaluate(m.view(), nullptr, options);
  options.lengths = lengths;
  const DistanceArray cut = evaluate(holes.view(), nullptr, options);
  // A tile a batch leaves columns to the workers; smaller tiles share them.
  for (const Index tile : {kRows, Index{13}}) {
    options.tile_rows = options.tile_cols = tile;
    EXPECT_TRUE(same_bytes(evaluate(holes.view(), nullptr, options), cut)) << "tile " << tile;
    DistanceOptions whole = options;
    whole.lengths.clear();
    EXPECT_TRUE(same_bytes(evaluate(m.view(), nullptr, whole), all)) << "tile " << tile;
  }
  for (Index b = 0; b < kBatches; ++b) {
    const DistanceArray alone = evaluate(slice(m.view(), b * kRows, (b + 1) * kRows), nullptr, options_for(Metric::cosine));
    EXPECT_EQ(std::memcmp(all.floats() + b * kRows * kRows, alone.floats(), alone.bytes()), 0) << "batch " << b;
    const Index n = lengths[static_cast<std::size_t>(b)];
    const DistanceArray shorter = evaluate(slice(m.view(), b * kRows, b * kRows + n), nullptr, options_for(Metric::cosine));
    for (Index i = 0; i < kRows; ++i) {
      for (Index j = 0; j < kRows; ++j) {
        const float v = cut.floats()[(b * kRows + i) * kRows + j];
        if (i < n && j < n) {
          EXPECT_EQ(v, shorter.floats()[i * n + j]) << b << " " << i << " " << j;
        } else {
          EXPECT_TRUE(std::isnan(v)) << b << " " << i << " " << j;
        }
      }
    }
  }
}

TEST(Matrix, lengths_of_rows_do_not_reach_past_a_batch_of_fewer_columns) {
  std::mt19937_64 random(kSeed + 7);
  constexpr Index kBatches = 3, kRows = 9, kCols = 4;
  const Matrix x = make(Kind::normal, kBatches * kRows, 20, random);
  const Matrix y = make(Kind::zero_rows, kBatches * kCols, 20, random);
  const RowSet columns = y.view();
  DistanceOptions options = options_for(Metric::cosine);
  options.batches = kBatches;
  const DistanceArray all = evaluate(x.view(), &columns, options);
  options.lengths = {9, 9, 9};
  const DistanceArray same = evaluate(x.view(), &columns, options);
  options.tile_rows = kRows;
  options.tile_cols = kCols;
  EXPECT_EQ(std::memcmp(same.data(), evaluate(x.view(), &columns, options).data(), same.bytes()), 0) << "a tile a batch";
  ASSERT_EQ(all.bytes(), same.bytes());
  EXPECT_EQ(std::memcmp(all.floats(), same.floats(), all.bytes()), 0);
}

TEST(Matrix, tiles_larger_than_the_matrix_are_the_matrix) {
  std::mt19937_64 random(kSeed + 8);
  const Matrix x = make(Kind::normal, 50, 20, random);
  DistanceOptions options = options_for(Metric::l2);
  const DistanceArray want = evaluate(x.view(), nullptr, options);
  options.tile_rows = options.tile_cols = Index{1} << 33;  // their product is past 64 bits
  const DistanceArray got = evaluate(x.view(), nullptr, options);
  EXPECT_EQ(std::memcmp(want.floats(), got.floats(), want.bytes()), 0);
}

TEST(Matrix, means_are_summed_in_double_over_the_rows_that_count) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 1e30f, 1, -1e30f, 1};  // [3, 2, 2]
  EXPECT_EQ(mean_rows(dense(x.data(), 6, 2), 3), (std::vector<double>{2, 3, 6, 7, 0, 1}));
  EXPECT_EQ(mean_rows(dense(x.data(), 6, 2), 3, {1, 2, 1}), (std::vector<double>{1, 2, 6, 7, static_cast<double>(1e30f), 1}));
  EXPECT_THROW(mean_rows(dense(x.data(), 6, 2), 3, {1, 0, 1}), Error);
}

TEST(Matrix, empty_and_single_sets_give_empty_and_single_matrices) {
  const std::vector<float> x = {1, 2, 3};
  EXPECT_EQ(evaluate(dense(x.data(), 0, 3), nullptr, options_for(Metric::l2)).bytes(), 0u);
  const DistanceArray one = evaluate(dense(x.data(), 1, 3), nullptr, options_for(Metric::l2));
  ASSERT_EQ(one.bytes(), 4u);
  EXPECT_EQ(one.floats()[0], 0.0f);
  const RowSet none = dense(x.data(), 0, 3);
  EXPECT_EQ(evaluate(dense(x.data(), 1, 3), &none, options_for(Metric::l2)).bytes(), 0u);
}

}  // namespace
}  // namespace tessera::testing
