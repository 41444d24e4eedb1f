// SPDX-License-Identifier: Apache-2.0
// Here: what a query row is before any tile is screened: whether it is searched, which base row it must not meet, and the candidates that
// are known without a screen. Not here: screening; where candidates are kept.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/candidate.hpp"
#include "core/problem.hpp"

namespace tessera::engine {

/// What kind of answer a query gets.
enum class RowKind : std::uint8_t { searched, skipped, zero };

struct QueryIdentity {
  RowKind kind = RowKind::searched;
  std::int64_t own_id = -1;  // of the base row that is this query, when queries are base rows
  bool drop_own = false;     // exclude and first
};

/// The rows of a segment that screens see, and those that they do not.
struct SegmentRows {
  std::int64_t first_id = 0;
  Index count = 0;                             // rows that are screened
  const core::SpecialRows* special = nullptr;  // numbered within the segment
};

/// Queries against one segment of a base. Everything outlives it.
class QueryRows {
 public:
  QueryRows(const core::QueryProblem& queries, const RowSet& base, const std::vector<Index>& denied, const SegmentRows& segment) noexcept
      : queries_(queries), base_(base), denied_(denied), segment_(segment) {}

  QueryIdentity identity(Index place) const noexcept {
    const Index q = queries_.row_at(place);
    QueryIdentity row;
    row.kind = contains(queries_.special.skipped, q) ? RowKind::skipped : contains(queries_.special.zero, q) ? RowKind::zero : RowKind::searched;
    const std::int64_t id = queries_.queries.first_id + q;
    const bool is_base_row = queries_.self != SelfMode::none && id >= base_.first_id && id < base_.first_id + base_.rows && !contains(denied_, id - base_.first_id);
    row.own_id = is_base_row ? id : -1;
    row.drop_own = is_base_row && queries_.self != SelfMode::natural;
    return row;
  }

  /// Candidates known before any tile: `carry`, a list of earlier segments, or null; and, for the worker that leads, rows outside all
  /// tiles. Valid until the next call.
  std::span<const core::Candidate> seeds(const QueryIdentity& row, const core::Candidate* carry, bool lead) {
    seed_.clear();
    if (row.kind == RowKind::skipped) return seed_;
    if (carry != nullptr) {
      seed_.assign(carry, carry + queries_.k);
      // The self-first entry is put in again at the end.
      std::erase_if(seed_, [&](const core::Candidate& c) { return c.id < 0 || (row.drop_own && c.id == row.own_id); });
    }
    if (lead) seed_zero_rows(row);
    return seed_;
  }

  /// SelfMode::first: the row's own base row moves to the front of a list [k]. key: of the row to itself, unless it is zero.
  void put_self_first(const QueryIdentity& row, double key, core::Candidate* list) const noexcept {
    std::copy_backward(list, list + queries_.k - 1, list + queries_.k);
    // A zero row is at 0 from itself and at 1 from everything else; other rows are what the metric says.
    list[0] = {row.kind == RowKind::zero ? 0.0 : key, row.own_id};
  }
  bool goes_first(const QueryIdentity& row) const noexcept {
    return queries_.self == SelfMode::first && row.kind != RowKind::skipped && row.own_id >= 0;
  }

 private:
  static constexpr double kZeroRowKey = 1.0;  // cosine: a zero row is at 1 from every other row

  static bool contains(const std::vector<Index>& sorted, Index row) { return std::ranges::binary_search(sorted, row); }

  /// Base rows that are zero are at 1 from every query; to a zero query every base row is at 1.
  void seed_zero_rows(const QueryIdentity& row) {
    const auto& zero = segment_.special->zero;
    if (row.kind == RowKind::zero && queries_.self == SelfMode::natural && row.own_id >= 0 && contains(zero, row.own_id - segment_.first_id)) {
      seed_.push_back({0.0, row.own_id});
    }
    // One more than k, because the query's own row may have to go.
    const Index wanted = queries_.k + 1;
    for (Index i = 0; i < std::min(wanted, std::ssize(zero)); ++i) seed_other(row, segment_.first_id + zero[static_cast<std::size_t>(i)]);
    if (row.kind != RowKind::zero) return;
    // All are at 1, so the smallest ids win; positions need not follow them.
    Index left = std::min(wanted, segment_.count);
    for (Index i = 0; left > 0; ++i) {
      if (contains(zero, i) || contains(segment_.special->skipped, i) || contains(segment_.special->denied, i)) continue;
      seed_other(row, segment_.first_id + i);
      --left;
    }
  }

  void seed_other(const QueryIdentity& row, std::int64_t id) {
    if (row.own_id >= 0 && id == row.own_id && (row.drop_own || row.kind == RowKind::zero)) return;
    seed_.push_back({kZeroRowKey, id});
  }

  const core::QueryProblem& queries_;
  const RowSet& base_;
  const std::vector<Index>& denied_;
  SegmentRows segment_;
  std::vector<core::Candidate> seed_;
};

}  // namespace tessera::engine
