// SPDX-License-Identifier: Apache-2.0
// All kernels that kernels.def names, for whoever compiles them: kernels.cu, and the shim of tests/simt.
#pragma once

#include "kernels/cuda/screen.cuh"
#include "kernels/cuda/select.cuh"
#include "kernels/cuda/tensor.cuh"
