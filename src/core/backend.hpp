// SPDX-License-Identifier: Apache-2.0
// The seams of the engine: where distances are computed (Backend) and where finished lists go (ListSink).
// The engine sees nothing else of either.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/candidate.hpp"
#include "core/executor.hpp"
#include "core/plan.hpp"
#include "core/problem.hpp"
#include "core/tile.hpp"
#include "core/values.hpp"
#include "tessera/result.hpp"
#include "tessera/rows.hpp"

namespace tessera::core {

/// What a backend made of one segment of the base. Immutable once built; shared by all workers.
class PreparedSegment {
 public:
  virtual ~PreparedSegment() = default;
  virtual Index cols() const noexcept = 0;             ///< positions that tiles run over
  virtual std::uint64_t bytes() const noexcept = 0;    ///< memory held
  virtual void describe(Report& report) const = 0;     ///< adds the rows it left out
  virtual Index row_at(Index position) const noexcept { return position; }  ///< of the segment
  /// Row of every position, for queries that are the same rows to follow; empty where positions follow the rows.
  virtual std::span<const Index> order() const noexcept { return {}; }
};

struct WorkCounts {
  std::int64_t survivors = 0;
  std::int64_t refined = 0;
  std::int64_t pruned = 0;  // pairs in tiles that were never visited
  double seconds_packing = 0;  // a worker's own: reading and packing query rows
  WorkCounts& operator+=(const WorkCounts& other) noexcept {
    survivors += other.survivors;
    refined += other.refined;
    pruned += other.pruned;
    seconds_packing += other.seconds_packing;
    return *this;
  }
};

/// Which tiles a block of query rows visits, and in what order.
class TileWalk {
 public:
  virtual ~TileWalk() = default;
  /// The next tile's columns; false when no tile is left that could change a list.
  virtual bool next(Range& cols) = 0;
};

/// One worker's hands: takes a block of query rows through any tiles of a segment, in any order, and ends with their lists.
class TopkWorker {
 public:
  virtual ~TopkWorker() = default;
  /// Starts query rows [first, last). carry: [rows, k] lists from earlier segments, or null.
  /// lead: this worker also answers for rows outside the tiles (zero rows, queries answered without a search).
  virtual void begin(Range rows, const Candidate* carry, bool lead) = 0;
  /// Of a pruned segment (BasePlan::pruned): the tiles that may hold neighbours of the rows begun, near ones first.
  virtual TileWalk* near_to_far() { return nullptr; }
  virtual void screen(const Tile& tile) = 0;
  /// Writes the k best of everything seen: out [rows, k], ascending, padded with id -1.
  virtual void finish(Candidate* out) = 0;
  /// SelfMode::first: moves every row's own base row to the front of its complete list [rows, k] of this block.
  virtual void place_self(Candidate* lists) = 0;
  virtual WorkCounts counts() const noexcept = 0;
};

/// One worker's hands in a symmetric search. Blocks are runs of positions; calls on different workers may overlap.
class SymmetricWorker {
 public:
  virtual ~SymmetricWorker() = default;
  /// Takes a block through its own pairs. All blocks are begun before any two meet.
  virtual void begin(Index block) = 0;
  /// Computes all pairs of two different blocks, each once, for both of its rows. Any two blocks meet at most once.
  virtual void meet(Index a, Index b) = 0;
  /// After all meetings: out [rows, k], the complete lists of some positions, own rows in their places.
  virtual void finish(Range rows, Candidate* out) = 0;
  virtual WorkCounts counts() const noexcept = 0;
};

/// A search of a segment in itself: what its workers share.
class SymmetricSearch {
 public:
  virtual ~SymmetricSearch() = default;
  virtual Index blocks() const noexcept = 0;
  virtual Range rows(Index block) const noexcept = 0;  ///< positions, and places of queries
  virtual std::unique_ptr<SymmetricWorker> worker() = 0;
};

/// What is common to all segments of one base: where rows are centred, how they are scaled, which screen runs.
class PreparedBaseBackend {
 public:
  virtual ~PreparedBaseBackend() = default;
  virtual std::unique_ptr<PreparedSegment> segment(Range base_rows, Executor& executor) = 0;
  /// Of a pruned base: packs the queries of a search in an order that keeps near ones together (PreparedSegment::order). Null where workers have no use for it.
  virtual std::unique_ptr<PreparedSegment> pack_queries(const QueryProblem& /*queries*/, Executor& /*executor*/) const { return nullptr; }
  virtual std::unique_ptr<TopkWorker> worker(const PreparedSegment& segment, const QueryProblem& queries,
                                             const QueryPlan& plan) const = 0;
  /// Of a place that can (DeviceInfo::can_share), where queries are the rows of the one segment and their first places are its positions
  /// (QueryProblem::order). Everything outlives the search.
  virtual std::unique_ptr<SymmetricSearch> symmetric(const PreparedSegment& /*segment*/, const QueryProblem& /*queries*/,
                                                     const QueryPlan& /*plan*/) const { return nullptr; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  virtual std::string isa() const = 0;
  virtual DeviceInfo device() const = 0;
  /// The screen that a look at the data speaks for; automatic when it has nothing to say. queries: null where they are not known yet.
  /// Speed only.
  virtual Screen advise_screen(const BaseProblem&, const RowSet* /*queries*/, Index /*k*/) const { return Screen::automatic; }
  virtual std::unique_ptr<PreparedBaseBackend> prepare(const BaseProblem& problem, const BasePlan& plan, Executor& executor) = 0;
  /// For a full matrix. Looks at sizes only; inspect() looks at the data.
  virtual std::unique_ptr<PreparedValues> prepare_values(const ValuesProblem& problem) = 0;
};

/// Takes finished lists; called once for every query row, from any worker, rows apart.
class ListSink {
 public:
  virtual ~ListSink() = default;
  virtual void put(Range rows, const Candidate* lists) = 0;  // [rows, k]
};

}  // namespace tessera::core
