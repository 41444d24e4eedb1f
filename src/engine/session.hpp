// SPDX-License-Identifier: Apache-2.0
// Here: one call from options to Neighbours: executor, backend, plan, segments, sink. Not here: the tile loop (run.hpp).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/backend.hpp"
#include "tessera/options.hpp"
#include "tessera/result.hpp"

namespace tessera::engine {

using BackendMaker = std::function<std::unique_ptr<core::Backend>(BackendKind kind, int threads)>;

/// Searches a base that is prepared a segment at a time, within the memory budget.
/// bound_inflation is 1; tests lower it to see that a broken certificate is found out. They bring backends of their own, too; null: the
/// registry's.
Neighbours search_streaming(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options, double bound_inflation = 1,
                            const BackendMaker& maker = {});

/// A base that stays prepared.
class WholeBase {
 public:
  WholeBase(const RowSet& base, const KnnOptions& options);
  Neighbours search(const RowSet& queries, Index k, const KnnOptions& options) const;
  const RowSet& base() const noexcept { return base_; }
  double seconds_prepare() const noexcept { return seconds_; }

 private:
  RowSet base_;
  std::unique_ptr<core::Executor> executor_;
  std::unique_ptr<core::Backend> backend_;
  core::BasePlan plan_;
  std::unique_ptr<core::PreparedBaseBackend> prepared_;
  std::vector<std::unique_ptr<core::PreparedSegment>> segments_;
  double seconds_ = 0;
};

}  // namespace tessera::engine
