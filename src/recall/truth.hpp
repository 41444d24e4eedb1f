// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/recall.hpp"

namespace tessera::recall_room {

/// Shapes and ids, before anything is counted.
void check_lists(const NeighbourLists& truth, const NeighbourLists& run, const RecallOptions& options);

/// +1 when the truth's distances ascend, -1 when they descend (inner products); by the majority of its lists.
double direction(const NeighbourLists& truth);

/// Holds the truth against keys computed from the data.
class TruthCheck {
 public:
  explicit TruthCheck(Metric metric) : metric_(metric) {}
  /// One list: stored distances (empty: none) and computed keys of the same ids, padding left out.
  void add(const double* stored, const double* keys, const std::int64_t* ids, Index k);
  /// throws   Error{malformed_input} when most of it is of other data.
  void finish() const;

 private:
  Metric metric_;
  Index steps_ = 0;       // adjacent pairs
  Index backwards_ = 0;   // of them, those whose computed key falls
  Index compared_ = 0;    // stored distances
  Index strangers_ = 0;   // of them, those that no known convention explains
};

}  // namespace tessera::recall_room
