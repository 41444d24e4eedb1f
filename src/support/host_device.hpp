// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks functions that kernels of the GPU share with the host: one source, hence the same bits.
#if defined(__CUDACC__)
#define TESSERA_HOST_DEVICE __host__ __device__
#else
#define TESSERA_HOST_DEVICE
#endif
