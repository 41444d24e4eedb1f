// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph.hpp"

namespace tessera {

Neighbours knn_graph(const RowSet& base, Index k, const KnnOptions& options) {
  KnnOptions self = options;
  if (self.self == SelfMode::none) self.self = SelfMode::exclude;
  return knn(base, base, k, self);
}

}  // namespace tessera
