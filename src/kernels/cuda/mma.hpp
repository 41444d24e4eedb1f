// SPDX-License-Identifier: Apache-2.0
// Here: what kernels ask of tensor cores: loading fragments, and one small product of tiles by a whole warp. As simt.hpp: nvcc gets the
// instructions (sm_80 and newer), the host gets declarations that the shim of tests/simt defines by a model of the architecture.
// Not here: tiles and panels (tensor.cuh), error bounds (tensor_arch.hpp).
//
// Fragments are those of PTX's mma.m16n8k16 (bf16) and mma.m16n8k32 (8 bits), which agree byte by byte: with lane = 4g + t, bytes counted
// along a row of 32,
//   a[0..3]  rows g, g + 8, g, g + 8; bytes 4t.. of the first half, twice, then of the second
//   b[0..1]  row g of the other operand; bytes 4t.. of the first half, then of the second
//   c[0..3]  (row g, columns 2t and 2t + 1), (row g + 8, the same)
#pragma once

#include "kernels/cuda/simt.hpp"

namespace tessera::cuda::simt {

#if defined(__CUDACC__)

/// Four matrices of 8 rows of 16 bytes from shared memory: lane l names row l % 8 of matrix l / 8. m[i]: bytes 4t.. of row g of matrix i.
TESSERA_DEVICE void load_matrices(unsigned (&m)[4], const void* row) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(at)
               : "memory");
}

/// c += a b over sixteen bf16 products.
TESSERA_DEVICE void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// c += a b over thirty-two products of signed 8-bit integers, exactly.
TESSERA_DEVICE void multiply(int (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#else

void load_matrices(unsigned (&m)[4], const void* row, Here here = Here::current());
void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], Here here = Here::current());
void multiply(int (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], Here here = Here::current());

#endif

}  // namespace tessera::cuda::simt
