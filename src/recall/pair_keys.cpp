// SPDX-License-Identifier: Apache-2.0
#include "recall/pair_keys.hpp"

#include <cstring>
#include <limits>

#include "tessera/knn.hpp"

namespace tessera::recall_room {
namespace {

/// The same order with a value that is its own key: a square root would make ties of what is none.
Metric key_metric(Metric metric) noexcept { return metric == Metric::l2 ? Metric::sqeuclidean : metric; }

}  // namespace

PairKeys::PairKeys(const RowSet& base, const RowSet& queries, Metric metric)
    : base_(base), queries_(queries), sign_(metric == Metric::inner_product ? -1 : 1) {
  options_.metric.metric = key_metric(metric);
  options_.nan = NanPolicy::skip;
  options_.distances = DistanceType::float64;
  options_.screen = Screen::double_precision;
  options_.threads = 1;
  options_.memory = std::uint64_t{1} << 30;  // lists of a few rows: never reached, and asking the system costs time
}

void PairKeys::of(Index query, std::span<const std::int64_t> ids, double* keys) {
  const std::size_t item = size_of(base_.dtype);
  places_.clear();
  rows_.resize(ids.size() * static_cast<std::size_t>(base_.cols) * item);
  std::byte* out = rows_.data();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    keys[i] = std::numeric_limits<double>::infinity();
    if (ids[i] < 0) continue;
    places_.push_back(i);
    const std::byte* p = base_.row(ids[i] - base_.first_id);
    for (Index col = 0; col < base_.cols; ++col, p += base_.col_stride, out += item) std::memcpy(out, p, item);
  }
  if (places_.empty()) return;
  RowSet gathered = dense(rows_.data(), base_.dtype, std::ssize(places_), base_.cols);
  gathered.byte_swapped = base_.byte_swapped;
  const Neighbours found = knn(slice(queries_, query, query + 1), gathered, gathered.rows, options_);
  for (std::size_t rank = 0; rank < found.ids.size(); ++rank) {
    if (found.ids[rank] >= 0) keys[places_[static_cast<std::size_t>(found.ids[rank])]] = sign_ * found.distances64[rank];
  }
}

}  // namespace tessera::recall_room
