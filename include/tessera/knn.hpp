// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tessera/export.hpp"
#include "tessera/options.hpp"
#include "tessera/result.hpp"
#include "tessera/rows.hpp"

namespace tessera {

/// Selects the k nearest base rows of every query row, exactly.
///
/// queries  [nq, d], host, any dtype and stride; nq may be 0.
/// base     [nb, d], any dtype (need not be the queries'); nb may be 0.
/// k        >= 1; past nb the tail is id -1, distance +inf (-inf for inner_product).
/// returns  ids [nq, k] int64, distances [nq, k], ascending by (key, id); the same bits for every
///          thread count, instruction set, tile, schedule and screen.
/// units    l2, l1, linf in the units of the data; cosine in [0, 2]; inner_product descending.
/// cost     O(nq*nb*d) worst case; O(nb*d) floats for the packed base, within options.memory.
/// throws   Error: invalid_argument (dimension mismatch, k < 1), malformed_input (non-finite rows),
///          out_of_memory, cancelled.
TESSERA_API Neighbours knn(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options = {});

/// A base prepared once and searched many times, as FAISS's add() is paid once.
///
/// The base's memory must outlive the object: survivors are recomputed from it.
/// options.metric, nan, filter, screen, tile, threads, memory and backend are fixed here; search() takes the rest.
/// search() may be called from several threads at once.
class TESSERA_API PreparedBase {
 public:
  explicit PreparedBase(const RowSet& base, const KnnOptions& options = {});
  PreparedBase(PreparedBase&&) noexcept;
  PreparedBase& operator=(PreparedBase&&) noexcept;
  ~PreparedBase();

  /// As knn(); throws the same errors. Never modifies the prepared base.
  Neighbours search(const RowSet& queries, Index k) const;
  Neighbours search(const RowSet& queries, Index k, const KnnOptions& options) const;

  Index rows() const noexcept;             ///< nb
  Index cols() const noexcept;             ///< d
  double seconds() const noexcept;         ///< what preparing took

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
