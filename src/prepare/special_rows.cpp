// SPDX-License-Identifier: Apache-2.0
#include "prepare/special_rows.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "support/aligned_buffer.hpp"
#include "support/fail.hpp"

namespace tessera::prepare {
namespace {

constexpr Index kRowsPerTask = 1024;
constexpr Index kElementsAtOnce = 1024;  // of short rows, which are looked at together; a multiple of 16
constexpr double kLargestInteger = 0x1p53;    // integers convert exactly up to here

struct Findings {
  core::SpecialRows special;
  Index too_large = -1;  // first row beyond the limits above
};

bool is_wide_integer(DType dtype) noexcept { return dtype == DType::i64 || dtype == DType::u64; }

bool needs_scan(const RowReader& reader, double largest) noexcept {
  return largest < kLargestElement || reader.unit_rows() || !is_integer(reader.rows().dtype) || is_wide_integer(reader.rows().dtype);
}

/// True if a 64-bit row holds an integer beyond 2^53. The double cannot tell 2^53 from 2^53 + 1, so the element itself is read.
bool holds_inexact_integer(const RowSet& rows, Index row) noexcept {
  for (Index t = 0; t < rows.cols; ++t) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, rows.row(row) + t * rows.col_stride, sizeof bits);
    if (rows.byte_swapped) bits = __builtin_bswap64(bits);
    const bool negative = rows.dtype == DType::i64 && (bits >> 63) != 0;
    if ((negative ? 0 - bits : bits) > (std::uint64_t{1} << 53)) return true;
  }
  return false;
}

bool beyond_limits(const RowSet& rows, Index row, double max_abs, double largest) noexcept {
  if (max_abs > largest) return true;
  if (is_wide_integer(rows.dtype)) return max_abs >= kLargestInteger && holds_inexact_integer(rows, row);
  return false;
}

/// True when the rows, which lie one after the other, are known to be plain: a look at them as one long row is quicker than one at each.
bool all_plain(const RowReader& reader, double largest, core::Range range, double* buffer) {
  const RowSet& rows = reader.rows();
  const Index elements = range.size() * rows.cols;
  if (elements > kElementsAtOnce || reader.unit_rows() || is_wide_integer(rows.dtype) || rows.row_stride != rows.cols * rows.col_stride) return false;
  reader.kernels().convert[static_cast<int>(rows.dtype)](rows.row(range.first), rows.col_stride, rows.byte_swapped, elements, buffer);
  const kernels::RowScan seen = reader.kernels().scan(buffer, padded_cols(elements));
  return seen.finite && seen.max_abs <= largest;
}

void look_at(const RowReader& reader, double largest, core::Range range, double* row, Findings& found) {
  if (all_plain(reader, largest, range, row)) return;
  const auto& kernels = reader.kernels();
  for (Index i = range.first; i < range.last; ++i) {
    reader.read_raw(i, row);
    const kernels::RowScan seen = kernels.scan(row, reader.padded());
    if (!seen.finite) {
      found.special.skipped.push_back(i);
    } else if (seen.max_abs == 0 && reader.unit_rows()) {
      found.special.zero.push_back(i);
    } else if (found.too_large < 0 && beyond_limits(reader.rows(), i, seen.max_abs, largest)) {
      found.too_large = i;
    }
  }
}

void merge(Findings& into, const Findings& from) {
  auto append = [](std::vector<Index>& a, const std::vector<Index>& b) { a.insert(a.end(), b.begin(), b.end()); };
  append(into.special.skipped, from.special.skipped);
  append(into.special.zero, from.special.zero);
  if (from.too_large >= 0 && (into.too_large < 0 || from.too_large < into.too_large)) into.too_large = from.too_large;
}

void complain(const Findings& found, const RowSet& rows, const BadRows& nan, double largest, std::string_view what) {
  const auto& bad = found.special.skipped;
  if (!bad.empty() && nan.policy == NanPolicy::error) {
    support::fail(ErrorCode::malformed_input, "{}: {} is not finite (NaN or infinity), the first of {} such rows: {}", what,
                  nan.name("row", rows.first_id + bad.front()), bad.size(), nan.remedy);
  }
  if (found.too_large < 0) return;
  if (largest < kLargestElement) {
    support::fail(ErrorCode::malformed_input,
                  "{}: {} lies beyond {:.3g}, so many cells away that rounding would decide which image is nearest: wrap the coordinates into the cell first", what,
                  nan.name("row", rows.first_id + found.too_large), largest);
  }
  const bool integer = is_integer(rows.dtype);
  support::fail(ErrorCode::malformed_input, "{}: {} holds {}; wanted at most {} in absolute value: rescale the data", what,
                nan.name("row", rows.first_id + found.too_large),
                integer ? "an integer that double cannot represent exactly" : "a value whose square may overflow double",
                integer ? "2^53" : "2^500");
}

}  // namespace

double largest_value(const metrics::Lattice* lattice) noexcept { return lattice != nullptr ? lattice->largest_value : kLargestElement; }

core::SpecialRows special_within(const core::SpecialRows& all, core::Range rows) {
  auto within = [&](const std::vector<Index>& sorted) {
    std::vector<Index> part(std::ranges::lower_bound(sorted, rows.first), std::ranges::lower_bound(sorted, rows.last));
    for (Index& row : part) row -= rows.first;
    return part;
  };
  return {within(all.skipped), within(all.zero), within(all.denied)};
}

std::vector<Index> rows_left(Index rows, const core::SpecialRows& special) {
  if (special.skipped.empty() && special.zero.empty() && special.denied.empty()) return {};
  std::vector<Index> left;
  left.reserve(static_cast<std::size_t>(rows));
  // Each list is ascending: a row that is in one is next in it.
  const auto next_of = [](const std::vector<Index>& sorted, std::size_t& at, Index row) {
    const bool here = at < sorted.size() && sorted[at] == row;
    at += here ? 1 : 0;
    return here;
  };
  std::size_t skipped = 0, zero = 0, denied = 0;
  for (Index i = 0; i < rows; ++i) {
    if (!next_of(special.skipped, skipped, i) && !next_of(special.zero, zero, i) && !next_of(special.denied, denied, i)) left.push_back(i);
  }
  return left;
}

void deny(core::SpecialRows& special, const std::vector<Index>& denied) {
  const auto is_denied = [&](Index row) { return std::ranges::binary_search(denied, row); };
  std::erase_if(special.skipped, is_denied);
  std::erase_if(special.zero, is_denied);
  special.denied = denied;
}

core::SpecialRows find_special_rows(const RowReader& reader, const BadRows& nan, std::string_view what, core::Executor& executor,
                                    double largest) {
  if (!needs_scan(reader, largest)) return {};
  Findings all;
  std::mutex mutex;
  const Index n = reader.rows().rows;
  const Index step = std::clamp<Index>(kElementsAtOnce / reader.rows().cols, 1, kRowsPerTask);
  executor.run((n + kRowsPerTask - 1) / kRowsPerTask, [&](Index task, int) {
    support::AlignedBuffer<double> row(static_cast<std::size_t>(std::max(reader.padded(), kElementsAtOnce)));
    Findings found;
    const Index last = std::min(n, (task + 1) * kRowsPerTask);
    for (core::Range part{task * kRowsPerTask, 0}; part.first < last; part.first = part.last) {
      part.last = std::min(last, part.first + step);
      look_at(reader, largest, part, row.data(), found);
    }
    if (found.special.skipped.empty() && found.special.zero.empty() && found.too_large < 0) return;
    const std::lock_guard lock(mutex);
    merge(all, found);
  });
  std::ranges::sort(all.special.skipped);
  std::ranges::sort(all.special.zero);
  complain(all, reader.rows(), nan, largest, what);
  return std::move(all.special);
}

}  // namespace tessera::prepare
