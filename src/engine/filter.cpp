// SPDX-License-Identifier: Apache-2.0
#include "engine/filter.hpp"

namespace tessera::engine {

std::vector<Index> denied_rows(const RowFilter& filter, const RowSet& base) {
  if (filter.kind == RowFilter::Kind::all) return {};
  const bool deny = filter.kind == RowFilter::Kind::deny;
  std::vector<bool> out(static_cast<std::size_t>(base.rows), !deny);
  for (const Index id : filter.ids) out[static_cast<std::size_t>(id - base.first_id)] = deny;
  std::vector<Index> rows;
  for (Index i = 0; i < base.rows; ++i) {
    if (out[static_cast<std::size_t>(i)]) rows.push_back(i);
  }
  return rows;
}

}  // namespace tessera::engine
