// SPDX-License-Identifier: Apache-2.0
#include "inspect.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "decode.hpp"

namespace tessera::cli {
namespace {

// float32 rows normalised in float32 have norms within d*u of 1, 1e-4 at d = 1,700; float16 ones within 1e-3.
constexpr double kUnitTolerance = 1e-3;
constexpr Index kElementsBetweenReports = Index{1} << 24;  // chosen: about a tenth of a second

/// A 64-bit hash of the row's values, in which -0 is 0: equal rows have equal hashes whatever their type.
/// Two different rows collide with probability 2^-64: about 3e-8 for any pair among a million rows.
std::uint64_t hash_row(const std::vector<double>& row) noexcept {
  std::uint64_t hash = 0x9e3779b97f4a7c15;  // the golden ratio, as splitmix64 starts
  for (const double value : row) {
    hash ^= std::bit_cast<std::uint64_t>(value + 0.0);
    hash *= 0xbf58476d1ce4e5b9;  // splitmix64's first multiplier; the shift brings high bits down
    hash ^= hash >> 32;
  }
  return hash;
}

bool is_float32(double value) noexcept {
  return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()) &&
         static_cast<double>(static_cast<float>(value)) == value;
}

/// Adds a finite row's values to the statistics; returns its norm.
double add_values(const std::vector<double>& row, RowStatistics& statistics) noexcept {
  double squares = 0;
  for (const double value : row) {
    squares += value * value;
    statistics.value_min = std::min(statistics.value_min, value);
    statistics.value_max = std::max(statistics.value_max, value);
    statistics.all_integers = statistics.all_integers && std::trunc(value) == value;
    statistics.fits_float32 = statistics.fits_float32 && is_float32(value);
  }
  return std::sqrt(squares);
}

Index count_duplicates(std::vector<std::uint64_t>& hashes) {
  std::sort(hashes.begin(), hashes.end());
  const auto distinct = std::unique(hashes.begin(), hashes.end());
  return hashes.end() - distinct;
}

bool all_finite(const std::vector<double>& row) noexcept {
  return std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); });
}

bool within(const RowStatistics& statistics, double low, double high) noexcept {
  return statistics.all_integers && statistics.value_min >= low && statistics.value_max <= high;
}

}  // namespace

RowStatistics inspect(const RowSet& rows, Index most_rows, const ProgressFunction& progress) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  RowStatistics statistics;
  statistics.step = std::max<Index>(1, rows.rows / most_rows + (rows.rows % most_rows != 0 ? 1 : 0));
  statistics.norm_min = statistics.value_min = infinity;
  statistics.norm_max = statistics.value_max = -infinity;
  std::vector<double> row(static_cast<std::size_t>(rows.cols));
  std::vector<std::uint64_t> hashes;
  const Index pause = std::max<Index>(1, kElementsBetweenReports / std::max<Index>(1, rows.cols)) * statistics.step;
  for (Index i = 0; i < rows.rows; i += statistics.step) {
    if (progress && i % pause == 0) {
      progress({.phase = "inspect", .done = static_cast<double>(i), .total = static_cast<double>(rows.rows)});
    }
    decode_row(rows, i, row.data());
    ++statistics.inspected;
    if (!all_finite(row)) {
      ++statistics.non_finite;
      continue;
    }
    const double norm = add_values(row, statistics);
    statistics.norm_min = std::min(statistics.norm_min, norm);
    statistics.norm_max = std::max(statistics.norm_max, norm);
    if (std::all_of(row.begin(), row.end(), [](double value) { return value == 0; })) ++statistics.zero;
    hashes.push_back(hash_row(row));
  }
  statistics.duplicates = count_duplicates(hashes);
  if (statistics.non_finite == statistics.inspected) {
    statistics.norm_min = statistics.norm_max = statistics.value_min = statistics.value_max = 0;
  }
  return statistics;
}

std::vector<std::string> find_hints(const RowSet& rows, const RowStatistics& statistics) {
  std::vector<std::string> hints;
  const bool some = statistics.inspected > statistics.non_finite && rows.cols > 0;
  if (some && statistics.norm_min >= 1 - kUnitTolerance && statistics.norm_max <= 1 + kUnitTolerance) {
    hints.emplace_back("all norms are 1: looks like unit vectors; cosine, inner_product and l2 rank them alike");
  }
  if (some && !is_integer(rows.dtype) && statistics.value_min < statistics.value_max) {
    const std::string_view type = within(statistics, 0, 255) ? "uint8" : within(statistics, -128, 127) ? "int8" : "";
    if (!type.empty()) {
      hints.push_back(fmt::format("every value is a whole number from {:.0f} to {:.0f}: looks like {} stored as {}",
                                  statistics.value_min, statistics.value_max, type, name_of(rows.dtype)));
    }
  }
  if (some && rows.dtype == DType::f64 && statistics.fits_float32 && !statistics.all_integers) {
    hints.emplace_back("every value is a float32: looks like float32 stored as float64, at twice the size");
  }
  if (statistics.non_finite > 0) {
    hints.emplace_back("rows with NaN or inf are an error by default; `topk --nan skip` leaves them out");
  }
  if (statistics.zero > 0) {
    hints.emplace_back("a zero row has no direction: its cosine distance to every other row is 1");
  }
  if (statistics.duplicates > 0) {
    hints.emplace_back("equal rows tie at distance 0 and are listed by the smaller id");
  }
  return hints;
}

}  // namespace tessera::cli
