// SPDX-License-Identifier: Apache-2.0
// Here: which architecture's tensor cores the shim plays. Not here: how (tensor_model.hpp).
#pragma once

#include "kernels/cuda/tensor_arch.hpp"

namespace tessera::testing {

/// Until it goes, the shim adds bf16 products as this architecture (90 otherwise).
class ModelledArch {
 public:
  explicit ModelledArch(int arch);
  ~ModelledArch();
  ModelledArch(const ModelledArch&) = delete;
  ModelledArch& operator=(const ModelledArch&) = delete;

 private:
  const cuda::TensorArch* before_;
};

}  // namespace tessera::testing
