// SPDX-License-Identifier: Apache-2.0
// Here: all that kernels ask of the machine: who am I, shared memory, barriers, warps, atomics, asynchronous copies, fma. nvcc gets the
// intrinsics; the host gets declarations, which the shim of tests/simt defines, so that the same kernels run under test.
// Not here: kernels. They use nothing of the machine that is not here.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__CUDACC__)
#include <source_location>
#endif

#if defined(__CUDACC__)
#define TESSERA_DEVICE __device__ __forceinline__
#define TESSERA_UNROLL _Pragma("unroll")
#else
#define TESSERA_DEVICE inline
#define TESSERA_UNROLL
#endif

namespace tessera::cuda::simt {

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

struct alignas(16) Float4 {
  float x, y, z, w;
};

#if defined(__CUDACC__)

TESSERA_DEVICE unsigned thread() { return threadIdx.x; }
TESSERA_DEVICE unsigned threads() { return blockDim.x; }
TESSERA_DEVICE unsigned block_x() { return blockIdx.x; }
TESSERA_DEVICE unsigned block_y() { return blockIdx.y; }
TESSERA_DEVICE unsigned grid_x() { return gridDim.x; }

/// The block's dynamic shared memory, aligned to 16 bytes.
TESSERA_DEVICE unsigned char* shared_memory() {
  extern __shared__ __align__(16) unsigned char tessera_shared[];
  return tessera_shared;
}

TESSERA_DEVICE void sync() { __syncthreads(); }
TESSERA_DEVICE bool sync_or(bool value) { return __syncthreads_or(value ? 1 : 0) != 0; }
TESSERA_DEVICE void sync_warp(unsigned mask) { __syncwarp(mask); }
TESSERA_DEVICE unsigned ballot(unsigned mask, bool value) { return __ballot_sync(mask, value ? 1 : 0); }
template <class T>
TESSERA_DEVICE T shuffle(unsigned mask, T value, unsigned lane) {
  return __shfl_sync(mask, value, static_cast<int>(lane));
}
template <class T>
TESSERA_DEVICE T shuffle_up(unsigned mask, T value, unsigned lanes) {
  return __shfl_up_sync(mask, value, lanes);
}
template <class T>
TESSERA_DEVICE T shuffle_xor(unsigned mask, T value, unsigned lanes) {
  return __shfl_xor_sync(mask, value, static_cast<int>(lanes));
}

/// Each adds and returns what was there before.
TESSERA_DEVICE unsigned atomic_add(unsigned* at, unsigned value) { return atomicAdd(at, value); }
TESSERA_DEVICE void atomic_add(std::uint64_t* at, std::uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
}

/// 16 bytes from global to shared memory, on their way until wait_async().
TESSERA_DEVICE void copy_async16(void* shared, const void* global) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(global) : "memory");
}
TESSERA_DEVICE void commit_async() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Until all but the last `Left` groups of this thread have arrived; a barrier must follow before others read them.
template <int Left>
TESSERA_DEVICE void wait_async() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}

TESSERA_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
TESSERA_DEVICE double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
TESSERA_DEVICE float add(float a, float b) { return __fadd_rn(a, b); }
TESSERA_DEVICE double add(double a, double b) { return __dadd_rn(a, b); }
TESSERA_DEVICE float mul(float a, float b) { return __fmul_rn(a, b); }
TESSERA_DEVICE double mul(double a, double b) { return __dmul_rn(a, b); }
TESSERA_DEVICE float sub(float a, float b) { return __fadd_rn(a, -b); }
TESSERA_DEVICE double sub(double a, double b) { return __dadd_rn(a, -b); }
TESSERA_DEVICE float abs(float a) { return fabsf(a); }
TESSERA_DEVICE double abs(double a) { return fabs(a); }
/// NaN where either is.
TESSERA_DEVICE float max_nan(float a, float b) {
  float m;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
  return m;
}

TESSERA_DEVICE unsigned bits_of(float v) { return __float_as_uint(v); }
TESSERA_DEVICE float float_of(unsigned v) { return __uint_as_float(v); }
TESSERA_DEVICE std::uint64_t bits_of(double v) { return static_cast<std::uint64_t>(__double_as_longlong(v)); }
TESSERA_DEVICE unsigned count_bits(unsigned v) { return static_cast<unsigned>(__popc(v)); }

#else  // the host: see tests/simt

using Here = std::source_location;

unsigned thread();
unsigned threads();
unsigned block_x();
unsigned block_y();
unsigned grid_x();
unsigned char* shared_memory();
void sync(Here here = Here::current());
bool sync_or(bool value, Here here = Here::current());
void sync_warp(unsigned mask, Here here = Here::current());
unsigned ballot(unsigned mask, bool value, Here here = Here::current());
/// Any warp exchange: every lane of mask brings 8 bytes and takes those of lane `from`.
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned from, Here here);
unsigned atomic_add(unsigned* at, unsigned value);
void atomic_add(std::uint64_t* at, std::uint64_t value);
void copy_async16(void* shared, const void* global);
void commit_async();
void wait_async(int left);

template <class T>
T shuffle(unsigned mask, T value, unsigned lane, Here here = Here::current()) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = exchange(mask, bits, lane % kWarp, here);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
T shuffle_up(unsigned mask, T value, unsigned lanes, Here here = Here::current()) {
  const unsigned lane = thread() % kWarp;
  return shuffle(mask, value, lane >= lanes ? lane - lanes : lane, here);
}
template <class T>
T shuffle_xor(unsigned mask, T value, unsigned lanes, Here here = Here::current()) {
  return shuffle(mask, value, thread() % kWarp ^ lanes, here);
}
template <int Left>
void wait_async() {
  wait_async(Left);
}

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float add(float a, float b) { return a + b; }
inline double add(double a, double b) { return a + b; }
inline float mul(float a, float b) { return a * b; }
inline double mul(double a, double b) { return a * b; }
inline float sub(float a, float b) { return a - b; }
inline double sub(double a, double b) { return a - b; }
inline float abs(float a) { return __builtin_fabsf(a); }
inline double abs(double a) { return __builtin_fabs(a); }
inline float max_nan(float a, float b) { return a != a || a > b ? a : b; }
inline unsigned bits_of(float v) { return __builtin_bit_cast(unsigned, v); }
inline float float_of(unsigned v) { return __builtin_bit_cast(float, v); }
inline std::uint64_t bits_of(double v) { return __builtin_bit_cast(std::uint64_t, v); }
inline unsigned count_bits(unsigned v) { return static_cast<unsigned>(__builtin_popcount(v)); }

#endif

TESSERA_DEVICE unsigned lane() { return thread() % kWarp; }
TESSERA_DEVICE unsigned warp() { return thread() / kWarp; }

}  // namespace tessera::cuda::simt
