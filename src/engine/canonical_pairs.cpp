// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/element_values.hpp"

namespace tessera::engine {

CanonicalPairs::Cache::Cache(const prepare::RowReader& reader_, Index capacity)
    : reader(reader_), rows(static_cast<std::size_t>(capacity * reader_.padded())), present(static_cast<std::size_t>(capacity)) {}

void CanonicalPairs::Cache::place(core::Range to) {
  range = to;
  std::fill(present.begin(), present.end(), char{0});
}

const double* CanonicalPairs::Cache::at(Index row) {
  const Index slot = row - range.first;
  double* out = rows.data() + slot * reader.padded();
  char& have = present[static_cast<std::size_t>(slot)];
  if (have == 0) reader.read(row, out);
  have = 1;
  return out;
}

CanonicalPairs::CanonicalPairs(const ElementInputs& in, Index rows, Index cols)
    : traits_(in.traits), pair_(in.kernels, in.traits, in.lattice),
      x_({in.kernels, in.problem.x, in.traits.unit_rows}, rows), y_({in.kernels, in.problem.y, in.traits.unit_rows}, cols) {}

void CanonicalPairs::place_rows(core::Range rows) { x_.place(rows); }
void CanonicalPairs::place_cols(core::Range cols) { y_.place(cols); }

double CanonicalPairs::value(Index row, Index col) {
  return traits_.report(pair_.key(x_.at(row), y_.at(col), x_.reader.padded()));
}

}  // namespace tessera::engine
