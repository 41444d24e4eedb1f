// SPDX-License-Identifier: Apache-2.0
#include "contract/oracle.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tessera::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// sign, exponent and fraction of any IEEE binary format.
double ieee(std::uint64_t bits, int exponent_bits, int fraction_bits) {
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
  const int largest = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & largest;
  const int bias = largest / 2;
  const bool negative = ((bits >> (fraction_bits + exponent_bits)) & 1) != 0;
  double value = 0;
  if (exponent == largest) {
    value = fraction == 0 ? kInfinity : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(fraction), 1 - bias - fraction_bits);
  } else {
    value = std::ldexp(static_cast<double>(fraction + (std::uint64_t{1} << fraction_bits)), exponent - bias - fraction_bits);
  }
  return negative ? -value : value;
}

double integer(std::uint64_t bits, int width, bool is_signed) {
  if (is_signed && ((bits >> (width - 1)) & 1) != 0) {
    return -static_cast<double>((~bits + 1) & (width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1));
  }
  return static_cast<double>(bits);
}

double decode(std::uint64_t bits, DType dtype) {
  switch (dtype) {
    case DType::f64: return ieee(bits, 11, 52);
    case DType::f32: return ieee(bits, 8, 23);
    case DType::f16: return ieee(bits, 5, 10);
    case DType::bf16: return ieee(bits, 8, 7);
    case DType::i8: return integer(bits, 8, true);
    case DType::u8: return integer(bits, 8, false);
    case DType::i16: return integer(bits, 16, true);
    case DType::u16: return integer(bits, 16, false);
    case DType::i32: return integer(bits, 32, true);
    case DType::u32: return integer(bits, 32, false);
    case DType::i64: return integer(bits, 64, true);
    case DType::u64: return integer(bits, 64, false);
  }
  return 0;
}

int width_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
    case DType::u64: return 8;
    case DType::f32:
    case DType::i32:
    case DType::u32: return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16: return 2;
    default: return 1;
  }
}

/// Sixteen partial sums, lane j over the terms t = j (mod 16) in ascending order; then added at distances 8, 4, 2, 1; then +0.0.
template <class Step>
double lanes16(std::size_t terms, Step step) {
  std::array<double, 16> lane{};
  for (std::size_t t = 0; t < terms; ++t) lane[t % 16] = step(t, lane[t % 16]);
  for (std::size_t w = 8; w > 0; w /= 2) {
    for (std::size_t j = 0; j < w; ++j) lane[j] = lane[j] + lane[j + w];
  }
  return lane[0] + 0.0;
}

bool is_zero(const std::vector<double>& row) {
  return std::ranges::all_of(row, [](double v) { return v == 0; });
}

void normalise(std::vector<double>& row) {
  if (is_zero(row)) return;
  double largest = 0;
  for (const double v : row) largest = std::max(largest, std::fabs(v));
  const int exponent = std::ilogb(largest);
  for (double& v : row) v = std::ldexp(v, -exponent);
  const double norm = std::sqrt(lanes16(row.size(), [&](std::size_t t, double lane) { return std::fma(row[t], row[t], lane); }));
  for (double& v : row) v = v / norm;
}

struct Ranked {
  int place;  // 0: the query itself under SelfMode::first, else 1
  double key;
  std::int64_t id;
  bool operator<(const Ranked& other) const {
    if (place != other.place) return place < other.place;
    if (key != other.key) return key < other.key;
    return id < other.id;
  }
};

double key_of(Metric metric, const std::vector<double>& x, const std::vector<double>& y, bool same_row) {
  if (metric == Metric::cosine && (is_zero(x) || is_zero(y))) return same_row && is_zero(x) ? 0.0 : 1.0;
  const double sum = canonical_sum(metric, x, y);
  switch (metric) {
    case Metric::inner_product: return 0.0 - sum;
    case Metric::cosine: return std::min(2.0, 0.5 * sum);
    default: return sum;
  }
}

double reported(Metric metric, double key) {
  switch (metric) {
    case Metric::l2: return std::sqrt(key);
    case Metric::inner_product: return 0.0 - key;
    default: return key;
  }
}

bool finite(const std::vector<double>& row) {
  return std::ranges::all_of(row, [](double v) { return std::isfinite(v); });
}

/// The rows, and which of them are finite.
struct Rows {
  std::vector<std::vector<double>> row;
  std::vector<bool> good;

  Rows(const RowSet& set, Metric metric) {
    for (Index i = 0; i < set.rows; ++i) {
      row.push_back(read_row(set, i, Metric::l2));
      good.push_back(finite(row.back()));
      if (metric == Metric::cosine && good.back()) row.back() = read_row(set, i, metric);
    }
  }
};

}  // namespace

double element(const RowSet& rows, Index row, Index col) {
  const int width = width_of(rows.dtype);
  const auto* p = static_cast<const unsigned char*>(rows.data) + row * rows.row_stride + col * rows.col_stride;
  std::uint64_t bits = 0;
  for (int b = 0; b < width; ++b) bits |= static_cast<std::uint64_t>(p[rows.byte_swapped ? width - 1 - b : b]) << (8 * b);
  return decode(bits, rows.dtype);
}

std::vector<double> read_row(const RowSet& rows, Index row, Metric metric) {
  std::vector<double> values(static_cast<std::size_t>(rows.cols));
  for (Index t = 0; t < rows.cols; ++t) values[static_cast<std::size_t>(t)] = element(rows, row, t);
  if (metric == Metric::cosine) normalise(values);
  return values;
}

double canonical_sum(Metric metric, const std::vector<double>& x, const std::vector<double>& y) {
  switch (metric) {
    case Metric::inner_product: return lanes16(x.size(), [&](std::size_t t, double lane) { return std::fma(x[t], y[t], lane); });
    case Metric::l1: return lanes16(x.size(), [&](std::size_t t, double lane) { return lane + std::fabs(x[t] - y[t]); });
    case Metric::linf: {
      double largest = 0;
      for (std::size_t t = 0; t < x.size(); ++t) largest = std::max(largest, std::fabs(x[t] - y[t]));
      return largest;
    }
    default:
      return lanes16(x.size(), [&](std::size_t t, double lane) {
        const double difference = x[t] - y[t];
        return std::fma(difference, difference, lane);
      });
  }
}

Answer knn(const RowSet& queries, const RowSet& base, const Question& question) {
  Answer answer{.k = question.k, .ids = {}, .distances = {}};
  const Rows x(queries, question.metric);
  const Rows y(base, question.metric);
  const double padding = question.metric == Metric::inner_product ? -kInfinity : kInfinity;
  for (Index q = 0; q < queries.rows; ++q) {
    std::vector<Ranked> ranked;
    const auto uq = static_cast<std::size_t>(q);
    for (Index i = 0; i < base.rows && x.good[uq]; ++i) {
      const auto ui = static_cast<std::size_t>(i);
      const bool same_row = question.self != SelfMode::none && queries.first_id + q == base.first_id + i;
      if (!y.good[ui] || (same_row && question.self == SelfMode::exclude)) continue;
      const int place = same_row && question.self == SelfMode::first ? 0 : 1;
      ranked.push_back({place, key_of(question.metric, x.row[uq], y.row[ui], same_row), base.first_id + i});
    }
    std::ranges::sort(ranked, std::less<>{});
    for (Index j = 0; j < question.k; ++j) {
      const bool real = j < std::ssize(ranked);
      answer.ids.push_back(real ? ranked[static_cast<std::size_t>(j)].id : -1);
      answer.distances.push_back(real ? reported(question.metric, ranked[static_cast<std::size_t>(j)].key) : padding);
    }
  }
  return answer;
}

}  // namespace tessera::oracle
