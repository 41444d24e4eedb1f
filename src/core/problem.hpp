// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/distributions.hpp"
#include "tessera/options.hpp"
#include "tessera/rows.hpp"

namespace tessera::core {

class PreparedSegment;

/// Rows that no screen should see, ascending row numbers.
struct SpecialRows {
  std::vector<Index> skipped;  // not finite, under NanPolicy::skip
  std::vector<Index> zero;     // all elements zero, where rows are normalised
  std::vector<Index> denied{};  // left out by the caller's filter; in neither of the others
};

struct BaseProblem {
  RowSet base;
  MetricSpec metric;
  NanPolicy nan = NanPolicy::error;
  std::vector<Index> denied{};  // rows that the caller's filter leaves out, ascending
  std::shared_ptr<const Distributions> sorted{};  // wasserstein: the whole base, where the queries are the same rows and are sorted anyway
  double bound_inflation = 1;  // 1; a test's way to break the certificate on purpose
};

struct QueryProblem {
  RowSet queries;
  SelfMode self = SelfMode::none;
  Index k = 1;
  SpecialRows special;
  std::vector<Index> order;  // the query row worked on at each place, so that places near each other are near in space; empty: as they are
  std::shared_ptr<const PreparedSegment> packed{};  // as the backend packs rows, in order of places, the special ones left out; null: rows are read one by one
  Index row_at(Index place) const noexcept { return order.empty() ? place : order[static_cast<std::size_t>(place)]; }
  std::shared_ptr<const Distributions> distributions{};  // the queries, sorted; wasserstein only
};

}  // namespace tessera::core
