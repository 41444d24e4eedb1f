// SPDX-License-Identifier: Apache-2.0
#include "prepare/distribution_sorter.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>

#include "prepare/narrowing.hpp"
#include "prepare/row_reader.hpp"

namespace tessera::prepare {
namespace {

using core::Distribution;
using core::ValueType;

constexpr double kLargestValue = 0x1p500;          // as for all metrics: docs/numerics.md, section 2
constexpr double kLargestWhole = 0x1p53;           // doubles hold every integer up to here
constexpr Index kSamplesPerRun = 4;                // runs of fewer would take more memory than their samples
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kBias = std::uint64_t{1} << 63;

bool is_wide(DType dtype) noexcept { return dtype == DType::i64 || dtype == DType::u64; }

/// The exponent of the lowest bit set in a finite double > 0.
int lowest_bit(double x) noexcept {
  int exponent = 0;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  return exponent - 53 + __builtin_ctzll(mantissa);
}

/// Weights times an exact power of two, divided by their greatest common divisor, when all are integers then and their sum is one.
bool make_whole(std::span<Atom> atoms) noexcept {
  int bit = std::numeric_limits<int>::max();
  double largest = 0;
  for (const Atom& a : atoms) {
    bit = std::min(bit, lowest_bit(a.weight));
    largest = std::max(largest, a.weight);
  }
  if (std::ilogb(largest) - bit > 53) return false;
  std::int64_t divisor = 0;
  double total = 0;
  for (const Atom& a : atoms) {
    const double whole = std::scalbn(a.weight, -bit);
    divisor = std::gcd(divisor, static_cast<std::int64_t>(whole));
    total += whole;
  }
  if (total / static_cast<double>(divisor) > kLargestWhole / 2 || total > 0x1p62) return false;
  for (Atom& a : atoms) a.weight = static_cast<double>(static_cast<std::int64_t>(std::scalbn(a.weight, -bit)) / divisor);
  return true;
}

Distribution described(double lowest, double highest, ValueType type) noexcept {
  Distribution d;
  d.lowest = lowest;
  d.highest = highest;
  d.type = type;
  return d;
}

template <class T>
bool all_whole(const std::vector<T>& x) noexcept {
  return std::all_of(x.begin(), x.end(), [](T v) { return std::abs(static_cast<double>(v)) <= kLargestWhole && std::trunc(v) == v; });
}

template <class T>
Index count_distinct(const std::vector<T>& x) noexcept {
  Index distinct = 1;
  for (std::size_t i = 1; i < x.size(); ++i) distinct += x[i] != x[i - 1] ? 1 : 0;
  return distinct;
}

}  // namespace

ValueType value_type(DType dtype) noexcept { return narrows_exactly(dtype) ? ValueType::f32 : ValueType::f64; }

Distribution DistributionSorter::take(Index row) {
  const Index n = rows_.length(row);
  if (n == 0) {
    found_.skipped.push_back(row);
    return {};
  }
  if (is_wide(rows_.dtype) && read_wide(row, n)) return rows_.weights.data == nullptr ? keep_wide(n) : refuse_wide(row);
  read(rows_.row(row), rows_.dtype, rows_.col_stride, rows_.byte_swapped, n, values_);
  if (!check_values(row, n)) return {};
  if (rows_.weights.data == nullptr) return keep_samples(n);
  return read_weights(row, n) ? keep_atoms() : Distribution{};
}

void DistributionSorter::read(const std::byte* from, DType dtype, Index stride, bool swapped, Index n, std::vector<double>& out) const {
  out.resize(static_cast<std::size_t>(padded_cols(n)));
  kernels_.convert[static_cast<int>(dtype)](from, stride, swapped, n, out.data());
}

bool DistributionSorter::check_values(Index row, Index n) {
  const kernels::RowScan seen = kernels_.scan(values_.data(), padded_cols(n));
  if (seen.finite && seen.max_abs <= kLargestValue) return true;
  for (Index t = 0; t < n; ++t) {
    const double x = values_[static_cast<std::size_t>(t)];
    if (!std::isfinite(x)) {
      Findings::earlier(found_.not_finite, {row, t, std::isnan(x) ? "NaN" : "infinite"});
      found_.skipped.push_back(row);
      return false;
    }
  }
  for (Index t = 0; t < n; ++t) {
    if (std::abs(values_[static_cast<std::size_t>(t)]) > kLargestValue) {
      Findings::earlier(found_.fault, {row, t, "a value beyond 2^500 in absolute value: rescale the data"});
      break;
    }
  }
  return false;
}

bool DistributionSorter::read_weights(Index row, Index n) {
  const Weights& w = rows_.weights;
  read(rows_.weights_of(row), w.dtype, w.col_stride, w.byte_swapped, n, weights_);
  atoms_.clear();
  for (Index t = 0; t < n; ++t) {
    const double weight = weights_[static_cast<std::size_t>(t)];
    if (!(weight >= 0 && weight <= kLargestValue)) {
      Findings::earlier(found_.fault, {row, t, "its weight is negative, not finite or beyond 2^500; wanted a finite weight >= 0"});
      return false;
    }
    if (weight > 0) atoms_.push_back({values_[static_cast<std::size_t>(t)], weight});
  }
  if (!atoms_.empty()) return true;
  Findings::earlier(found_.fault, {row, 0, "all weights of this distribution are 0; wanted one above"});
  return false;
}

template <class T>
T* DistributionSorter::place(Index n, T padding) noexcept {
  auto* at = reinterpret_cast<T*>(next_);
  std::fill_n(at + n, core::kPadding, padding);
  const std::size_t bytes = static_cast<std::size_t>(n + core::kPadding) * sizeof(T);
  next_ += (bytes + support::kAlignment - 1) / support::kAlignment * support::kAlignment;
  return at;
}

Distribution DistributionSorter::keep_samples(Index n) {
  return value_type(rows_.dtype) == ValueType::f32 ? keep_samples_as(floats_, n, ValueType::f32) : keep_samples_as(doubles_, n, ValueType::f64);
}

template <class T>
Distribution DistributionSorter::keep_samples_as(std::vector<T>& x, Index n, ValueType type) {
  x.resize(static_cast<std::size_t>(n));
  std::transform(values_.begin(), values_.begin() + n, x.begin(), [](double v) { return static_cast<T>(v + 0.0); });
  std::sort(x.begin(), x.end());
  Distribution d = described(x.front(), x.back(), type);
  d.whole_values = is_integer(rows_.dtype) || all_whole(x);
  d.total = static_cast<double>(n);
  const Index distinct = d.whole_values ? count_distinct(x) : n;
  if (distinct <= n / kSamplesPerRun) return keep_runs(x, distinct, d);
  T* values = place<T>(n, x.back());
  std::copy(x.begin(), x.end(), values);
  d.values = values;
  d.size = n;
  return d;
}

template <class T>
Distribution DistributionSorter::keep_runs(const std::vector<T>& x, Index distinct, Distribution d) {
  T* values = place<T>(distinct, x.back());
  auto* ends = place<double>(distinct, kInfinity);
  Index run = -1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (run < 0 || values[run] != x[i]) values[++run] = x[i];
    ends[run] = static_cast<double>(i + 1);
  }
  d.values = values;
  d.cumulative = ends;
  d.size = distinct;
  d.runs = true;
  return d;
}

Distribution DistributionSorter::keep_atoms() {
  std::sort(atoms_.begin(), atoms_.end());
  const bool whole = make_whole(atoms_);
  const auto n = static_cast<Index>(atoms_.size());
  auto* values = place<double>(n, atoms_.back().value);
  std::transform(atoms_.begin(), atoms_.end(), values, [](const Atom& a) { return a.value + 0.0; });
  Distribution d = described(values[0], values[n - 1], ValueType::f64);
  d.values = values;
  d.size = n;
  d.whole_values = std::all_of(values, values + n, [](double x) { return std::abs(x) <= kLargestWhole && std::trunc(x) == x; });
  d.whole_weights = whole;
  const bool equal = std::all_of(atoms_.begin(), atoms_.end(), [&](const Atom& a) { return a.weight == atoms_.front().weight; });
  d.total = static_cast<double>(n);
  if (equal) {
    d.whole_weights = true;
    return d;
  }
  auto* ends = place<double>(n, kInfinity);
  double sum = 0;
  for (Index i = 0; i < n; ++i) ends[i] = sum += atoms_[static_cast<std::size_t>(i)].weight;
  d.cumulative = ends;
  d.total = sum;
  if (whole) return d;
  for (Index i = 0; i < n; ++i) ends[i] /= sum;
  d.total = 1;
  return d;
}

// --- integers beyond 2^53 ----------------------------------------------------------------------------------------

/// Reads 64-bit integers; uint64 less 2^63, which keeps their order. False when doubles hold them all.
bool DistributionSorter::read_wide(Index row, Index n) {
  wide_.resize(static_cast<std::size_t>(n));
  bool beyond = false;
  for (Index t = 0; t < n; ++t) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, rows_.row(row) + t * rows_.col_stride, sizeof bits);
    if (rows_.byte_swapped) bits = __builtin_bswap64(bits);
    const bool negative = rows_.dtype == DType::i64 && (bits & kBias) != 0;
    beyond = beyond || (negative ? 0 - bits : bits) > (std::uint64_t{1} << 53);
    wide_[static_cast<std::size_t>(t)] = static_cast<std::int64_t>(rows_.dtype == DType::u64 ? bits ^ kBias : bits);
  }
  return beyond;
}

Distribution DistributionSorter::keep_wide(Index n) {
  std::sort(wide_.begin(), wide_.end());
  const bool biased = rows_.dtype == DType::u64;
  auto rounded = [&](std::int64_t x) { return biased ? static_cast<double>(static_cast<std::uint64_t>(x) ^ kBias) : static_cast<double>(x); };
  Distribution d = described(rounded(wide_.front()), rounded(wide_.back()), ValueType::wide);
  auto* values = place<std::int64_t>(n, wide_.back());
  std::copy(wide_.begin(), wide_.end(), values);
  d.values = values;
  d.size = n;
  d.total = static_cast<double>(n);
  d.whole_values = true;
  d.biased = biased;
  return d;
}

Distribution DistributionSorter::refuse_wide(Index row) {
  Findings::earlier(found_.fault, {row, 0, "integers beyond 2^53 cannot have weights: rescale the values"});
  return {};
}

}  // namespace tessera::prepare
