// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "tessera/options.hpp"
#include "tessera/rows.hpp"

namespace tessera::recall_room {

/// Canonical keys of chosen pairs: smaller is nearer. The base rows of one query are gathered and searched in full, so that
/// every metric of knn() is served and no arithmetic is repeated here.
class PairKeys {
 public:
  PairKeys(const RowSet& base, const RowSet& queries, Metric metric);

  /// keys  [ids.size()]: of `query` (a position) with base ids; +inf for negative ids. ids lie in the base.
  void of(Index query, std::span<const std::int64_t> ids, double* keys);

 private:
  RowSet base_;
  RowSet queries_;
  KnnOptions options_;
  double sign_;
  std::vector<std::byte> rows_;
  std::vector<std::size_t> places_;
};

}  // namespace tessera::recall_room
