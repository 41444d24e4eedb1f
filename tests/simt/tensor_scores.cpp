// SPDX-License-Identifier: Apache-2.0
#include "simt/tensor_scores.hpp"

#include <cmath>
#include <cstring>

#include "contract/oracle.hpp"
#include "kernels/cuda/tensor_layout.hpp"
#include "metrics/traits.hpp"
#include "simt/tensor_model.hpp"

namespace tessera::testing {
namespace {

/// The row's bytes, filled up to whole chunks.
template <class T>
std::vector<T> row_of(const prepare::TensorRows& rows, Index at) {
  std::vector<T> row(static_cast<std::size_t>(rows.chunks()) * cuda::kChunkBytes / sizeof(T));
  auto* out = reinterpret_cast<std::byte*>(row.data());
  const std::byte* panel = rows.panels() + static_cast<std::size_t>(at / cuda::kTensorPanel * rows.chunks()) * cuda::kPanelChunkBytes;
  for (Index chunk = 0; chunk < rows.chunks(); ++chunk) {
    for (unsigned piece = 0; piece < cuda::kPieces; ++piece, out += cuda::kPieceBytes) {
      std::memcpy(out, panel + static_cast<std::size_t>(chunk) * cuda::kPanelChunkBytes + cuda::tensor_piece(static_cast<unsigned>(at % cuda::kTensorPanel), piece),
                  cuda::kPieceBytes);
    }
  }
  return row;
}

float product_of(const TensorSides& sides, const cuda::TensorArch& arch, Index query, Index base) {
  if (sides.narrowing.int8) {
    const auto x = row_of<std::int8_t>(*sides.queries, query);
    const auto y = row_of<std::int8_t>(*sides.base, base);
    int sum = 0;
    for (std::size_t t = 0; t < x.size(); ++t) sum += x[t] * y[t];
    return static_cast<float>(sum) * sides.base->scale()[base];
  }
  return tensor_sum(arch, 0, row_of<std::uint16_t>(*sides.queries, query), row_of<std::uint16_t>(*sides.base, base));
}

}  // namespace

std::unique_ptr<TensorSides> pack_sides(const kernels::CpuKernels& kernels, Metric metric, prepare::TensorType type, const cuda::TensorArch* arch, const RowSet& queries,
                                        const RowSet& base, const RowSet& centred_on, double inflation) {
  const metrics::MetricTraits& traits = metrics::traits_of(metric);
  auto sides = std::make_unique<TensorSides>();
  sides->narrowing = prepare::choose_tensor_narrowing(prepare::RowReader(kernels, centred_on, traits.unit_rows), traits, type, arch, inflation);
  sides->queries = std::make_unique<prepare::TensorRows>(sides->narrowing, kernels, queries.rows);
  sides->base = std::make_unique<prepare::TensorRows>(sides->narrowing, kernels, base.rows);
  std::vector<double> row(static_cast<std::size_t>(prepare::padded_cols(base.cols)));
  prepare::TensorRows::Scratch scratch(std::ssize(row));
  const prepare::RowReader x(kernels, queries, traits.unit_rows);
  for (Index i = 0; i < queries.rows; ++i) {
    x.read(i, row.data());
    sides->queries->put_query(i, row.data(), scratch);
  }
  const prepare::RowReader y(kernels, base, traits.unit_rows);
  for (Index i = 0; i < base.rows; ++i) {
    y.read(i, row.data());
    sides->base->put_base(i, row.data(), scratch);
  }
  return sides;
}

float tensor_score(const TensorSides& sides, const cuda::TensorArch& arch, Index query, Index base) {
  const float without = std::fma(-sides.queries->reach()[query], sides.base->residual()[base], sides.base->bias()[base]);
  return std::fma(-sides.queries->factor()[query], product_of(sides, arch, query, base), without);
}

ScreenedPairs screen_all_tensor(const kernels::CpuKernels& kernels, Metric metric, prepare::TensorType type, const cuda::TensorArch& arch, const RowSet& queries,
                                const RowSet& base, const RowSet& centred_on, double inflation) {
  const auto sides = pack_sides(kernels, metric, type, &arch, queries, base, centred_on, inflation);
  ScreenedPairs out{.context = sides->narrowing.bound, .pairs = {}, .bypassed = 0};
  const metrics::RowTerms tile = sides->base->largest(0, base.rows);
  for (Index q = 0; q < queries.rows; ++q) {
    const std::vector<double> x = oracle::read_row(queries, q, metric);
    for (Index i = 0; i < base.rows; ++i) {
      if (sides->queries->row(q).bypass || sides->base->row(i).bypass) {
        ++out.bypassed;
        continue;
      }
      const double sum = oracle::canonical_sum(metric, x, oracle::read_row(base, i, metric));
      const long double z = (metric == Metric::inner_product ? -1.0L : 1.0L) * sum * static_cast<long double>(out.context.z_scale);
      out.pairs.push_back({sides->queries->row(q).terms, sides->base->row(i).terms, tile, tensor_score(*sides, arch, q, i), z});
    }
  }
  return out;
}

}  // namespace tessera::testing
