// SPDX-License-Identifier: Apache-2.0
// Here: the table of cases that every backend and instruction set must answer as the oracle does: metrics, types, layouts, kinds of data,
// shapes and plans. Not here: who answers (contract_test.cpp, simt/).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "support/data.hpp"
#include "tessera/options.hpp"
#include "tessera/rows.hpp"

namespace tessera::testing {

enum Factor { base_dtype, query_dtype, base_layout, query_layout, kind, base_rows, query_rows, cols, k, self, nan, schedule, screen, tile, threads,
              segmented, wide, prune };

/// How many values each factor has, in the order of Factor.
std::vector<int> levels();

/// One row of the table, resolved.
struct Case {
  Metric metric;
  std::vector<int> at;
  std::uint64_t seed;
  Index more_base = 0;  // rows beyond what the table says: panels of a GPU are wider than any CPU's
  Index more_queries = 0;

  DType dtype(Factor f) const { return static_cast<DType>(at[f]); }
  Index nb() const;
  Index nq() const;
  Index d() const;
  Index neighbours() const {
    const Index ks[] = {1, 2, nb() - 1, nb(), nb() + 1, 10};
    return std::max<Index>(1, ks[at[k]]);
  }
  SelfMode self_mode() const;
  bool skip_nan() const { return at[nan] == 1; }

  std::string describe() const;
};

/// The stored rows of a case; in a self mode the queries are a slice of the base.
struct Data {
  Stored base;
  Stored queries;
  RowSet base_rows;
  RowSet query_rows;
};

Data data_of(const Case& c);
KnnOptions options_of(const Case& c, Index nq);

/// Metrics and screens that do not go together, or not with pruning.
bool unprunable(Metric metric, Screen wish);
bool unavailable(Metric metric, Screen wish, bool has_bf16);

}  // namespace tessera::testing
