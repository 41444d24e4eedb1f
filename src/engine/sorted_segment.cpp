// SPDX-License-Identifier: Apache-2.0
#include "engine/sorted_segment.hpp"

#include <algorithm>

#include "prepare/distributions.hpp"

namespace tessera::engine {
namespace {

constexpr Index kPositionsPerTask = 64;

void sketch(SortedSegment& out, const kernels::CpuKernels& kernels, double bound_inflation, Index tile_cols, core::Executor& executor) {
  const Index n = out.cols();
  const auto size = static_cast<std::size_t>(n);
  support::AlignedBuffer<double> coarse(size * kCoarseBlocks);
  out.fine = support::AlignedBuffer<double>(size * kFineBlocks);
  out.coarse_terms.resize(size);
  out.fine_terms.resize(size);
  executor.run((n + kPositionsPerTask - 1) / kPositionsPerTask, [&](Index task, int) {
    for (Index p = task * kPositionsPerTask; p < std::min(n, (task + 1) * kPositionsPerTask); ++p) {
      const auto at = static_cast<std::size_t>(p);
      const core::Distribution& d = out.at(p);
      out.coarse_terms[at] = sketch_terms(d, block_means(d, kCoarseBlocks, coarse.data() + p * kCoarseBlocks));
      out.fine_terms[at] = sketch_terms(d, block_means(d, kFineBlocks, out.fine.data() + p * kFineBlocks));
    }
  });
  out.tile_terms.resize(static_cast<std::size_t>((n + tile_cols - 1) / tile_cols));
  for (Index p = 0; p < n; ++p) out.tile_terms[static_cast<std::size_t>(p / tile_cols)].take(out.coarse_terms[static_cast<std::size_t>(p)]);
  const prepare::RowReader reader(kernels, dense(coarse.data(), n, kCoarseBlocks), false);
  out.narrowing = std::make_unique<prepare::Narrowing>(prepare::choose_narrowing(reader, metrics::traits_of(Metric::l1), Screen::fp32_direct, bound_inflation));
  out.coarse = prepare::pack_panels(reader, {}, out.narrowing.get(), tile_cols, false, executor);
}

}  // namespace

std::unique_ptr<SortedSegment> sort_segment(const kernels::CpuKernels& kernels, const core::BaseProblem& problem, core::Range rows, Index tile_cols,
                                            core::Executor& executor) {
  auto out = std::make_unique<SortedSegment>();
  out->set = problem.sorted ? problem.sorted : prepare::sort_distributions(kernels, problem.base, rows, problem.nan, "base", executor);
  out->first_id = problem.base.first_id + rows.first;
  bool wide = false;
  for (Index i = 0; i < rows.size(); ++i) {
    const core::Distribution& d = out->set->rows[static_cast<std::size_t>(i)];
    const bool denied = std::ranges::binary_search(problem.denied, rows.first + i);
    out->denied += denied ? 1 : 0;
    if (d.size > 0 && !denied) out->row_of_position.push_back(i);
    wide = wide || d.type == core::ValueType::wide;
  }
  // Means of integers that no double holds would prove nothing.
  if (tile_cols > 0 && !wide && out->cols() > 0) sketch(*out, kernels, problem.bound_inflation, tile_cols, executor);
  return out;
}

}  // namespace tessera::engine
