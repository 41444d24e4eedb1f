// SPDX-License-Identifier: Apache-2.0
#include "ann/hnsw_from_graph.hpp"

#include <faiss/impl/AuxIndexStructures.h>
#include <faiss/impl/DistanceComputer.h>
#include <omp.h>

#include <algorithm>
#include <memory>
#include <queue>
#include <vector>

namespace tessera::ann {
namespace {

using faiss::HNSW;
using Id = HNSW::storage_idx_t;

/// HNSW wants what is nearer to be less; similarities are the other way round.
class Nearness final : public faiss::DistanceComputer {
 public:
  explicit Nearness(const faiss::Index& storage)
      : computer_(storage.get_distance_computer()), sign_(storage.metric_type == faiss::METRIC_INNER_PRODUCT ? -1.0f : 1.0f) {}
  void set_query(const float* x) override { computer_->set_query(x); }
  float operator()(faiss::Index::idx_t i) override { return sign_ * (*computer_)(i); }
  float symmetric_dis(faiss::Index::idx_t i, faiss::Index::idx_t j) override { return sign_ * computer_->symmetric_dis(i, j); }

 private:
  std::unique_ptr<faiss::DistanceComputer> computer_;
  float sign_;
};

class Locks {
 public:
  explicit Locks(Index rows) : locks_(static_cast<std::size_t>(rows)) {
    for (omp_lock_t& lock : locks_) omp_init_lock(&lock);
  }
  ~Locks() {
    for (omp_lock_t& lock : locks_) omp_destroy_lock(&lock);
  }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;
  std::vector<omp_lock_t>& all() noexcept { return locks_; }

 private:
  std::vector<omp_lock_t> locks_;
};

/// Rows that name a row, for each: at most k of them, the nearest by rank first.
class Reversed {
 public:
  Reversed(std::span<const faiss::Index::idx_t> ids, Index rows, Index k) : starts_(static_cast<std::size_t>(rows) + 1), from_(ids.size()) {
    for (const auto id : ids) starts_[static_cast<std::size_t>(id + 1)] += id >= 0 ? 1 : 0;
    for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
    std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
    for (Index rank = 0; rank < k; ++rank) {
      for (Index row = 0; row < rows; ++row) {
        const auto id = ids[static_cast<std::size_t>(row * k + rank)];
        if (id >= 0) from_[next[static_cast<std::size_t>(id)]++] = static_cast<Id>(row);
      }
    }
    most_ = static_cast<std::size_t>(k);
  }
  std::span<const Id> of(Index row) const noexcept {
    const auto r = static_cast<std::size_t>(row);
    return std::span(from_).subspan(starts_[r], std::min(most_, starts_[r + 1] - starts_[r]));
  }

 private:
  std::vector<std::size_t> starts_;  // [rows + 1]
  std::vector<Id> from_;
  std::size_t most_ = 0;
};

void link_upper_levels(faiss::IndexHNSW& index, Index rows, const float* x) {
  HNSW& hnsw = index.hnsw;
  std::vector<Id> upper;
  for (Index i = 0; i < rows; ++i) {
    if (hnsw.levels[static_cast<std::size_t>(i)] > 1) upper.push_back(static_cast<Id>(i));
  }
  if (upper.empty()) upper.push_back(0);  // somewhere to enter
  std::ranges::stable_sort(upper, [&](Id a, Id b) { return hnsw.levels[static_cast<std::size_t>(a)] > hnsw.levels[static_cast<std::size_t>(b)]; });
  Locks locks(rows);
  const auto count = std::ssize(upper);
#pragma omp parallel
  {
    Nearness nearness(*index.storage);
    faiss::VisitedTable visited(static_cast<int>(rows));
    const auto link = [&](Index i) {
      const Id row = upper[static_cast<std::size_t>(i)];
      nearness.set_query(x + Index{row} * index.d);
      hnsw.add_with_locks(nearness, hnsw.levels[static_cast<std::size_t>(row)] - 1, row, locks.all(), visited);
    };
#pragma omp single
    link(0);  // the entry point, before anyone looks for one
#pragma omp for schedule(dynamic, 16)
    for (Index i = 1; i < count; ++i) link(i);
  }
}

void link_lowest_level(faiss::IndexHNSW& index, Index rows, const float* x, std::span<const faiss::Index::idx_t> ids, Index k) {
  HNSW& hnsw = index.hnsw;
  const Reversed reversed(ids, rows, k);
  const int room = hnsw.nb_neighbors(0);
#pragma omp parallel
  {
    Nearness nearness(*index.storage);
    std::vector<Id> near;
#pragma omp for schedule(dynamic, 256)
    for (Index row = 0; row < rows; ++row) {
      near.assign(reversed.of(row).begin(), reversed.of(row).end());
      for (const auto id : ids.subspan(static_cast<std::size_t>(row * k), static_cast<std::size_t>(k))) {
        if (id >= 0) near.push_back(static_cast<Id>(id));
      }
      std::ranges::sort(near);
      near.erase(std::unique(near.begin(), near.end()), near.end());
      nearness.set_query(x + row * index.d);
      std::priority_queue<HNSW::NodeDistFarther> candidates;
      for (const Id id : near) {
        if (id != row) candidates.emplace(nearness(id), id);
      }
      std::vector<HNSW::NodeDistFarther> chosen;
      HNSW::shrink_neighbor_list(nearness, candidates, chosen, room);
      std::size_t begin = 0, end = 0;
      hnsw.neighbor_range(row, 0, &begin, &end);
      for (std::size_t at = begin; at < end; ++at) hnsw.neighbors[at] = at - begin < chosen.size() ? chosen[at - begin].id : -1;
    }
  }
}

}  // namespace

void add_with_graph(faiss::IndexHNSW& index, Index rows, const float* x, std::span<const faiss::Index::idx_t> ids, Index k) {
  index.storage->add(rows, x);
  index.ntotal = rows;
  if (rows == 0) return;
  index.hnsw.prepare_level_tab(static_cast<std::size_t>(rows));
  link_upper_levels(index, rows, x);
  link_lowest_level(index, rows, x, ids, k);
}

}  // namespace tessera::ann
