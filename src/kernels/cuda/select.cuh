// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cuda/params.hpp"
#include "kernels/cuda/simt.hpp"
namespace tessera::cuda {
TESSERA_DEVICE void select_row(const SelectParams& p) { if (simt::thread()==0) p.counts[0] += p.every_last; }
}
