// SPDX-License-Identifier: Apache-2.0
#include "prepare/pool.hpp"

namespace tessera::prepare {

std::vector<double> mean_rows(const RowReader& reader, Index batches, const std::vector<Index>& lengths) {
  const Index n = reader.rows().rows / batches;
  const Index d = reader.rows().cols;
  std::vector<double> means(static_cast<std::size_t>(batches * d));
  std::vector<double> row(static_cast<std::size_t>(reader.padded()));
  for (Index b = 0; b < batches; ++b) {
    double* mean = means.data() + b * d;
    const Index length = lengths.empty() ? n : lengths[static_cast<std::size_t>(b)];
    for (Index i = 0; i < length; ++i) {
      reader.read_raw(b * n + i, row.data());
      for (Index t = 0; t < d; ++t) mean[t] += row[static_cast<std::size_t>(t)];
    }
    for (Index t = 0; t < d; ++t) mean[t] /= static_cast<double>(length);
  }
  return means;
}

}  // namespace tessera::prepare
