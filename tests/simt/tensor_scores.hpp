// SPDX-License-Identifier: Apache-2.0
// Here: what kernel D's scores should be: rows read back from their panels, summed by the model, one pair at a time. Not here: the kernel.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/tensor_arch.hpp"
#include "metrics/screened_pairs.hpp"
#include "prepare/tensor_rows.hpp"

namespace tessera::testing {

/// Rows of both sides, narrowed and packed.
struct TensorSides {
  prepare::Narrowing narrowing;
  std::unique_ptr<prepare::TensorRows> queries;
  std::unique_ptr<prepare::TensorRows> base;
};
/// centred_on: the rows that choose centre and scale.
std::unique_ptr<TensorSides> pack_sides(const kernels::CpuKernels& kernels, Metric metric, prepare::TensorType type, const cuda::TensorArch* arch, const RowSet& queries,
                                        const RowSet& base, const RowSet& centred_on, double inflation = 1);

float tensor_score(const TensorSides& sides, const cuda::TensorArch& arch, Index query, Index base);

/// Every pair beside its canonical value; `score` has the base row's own reach taken off.
ScreenedPairs screen_all_tensor(const kernels::CpuKernels& kernels, Metric metric, prepare::TensorType type, const cuda::TensorArch& arch, const RowSet& queries,
                                const RowSet& base, const RowSet& centred_on, double inflation = 1);

}  // namespace tessera::testing
