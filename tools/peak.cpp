// SPDX-License-Identifier: Apache-2.0
// Every kernel is one loop over independent accumulators that never leave their registers, so that nothing but the units' throughput
// limits it: latency 4, two units and 16 accumulators leave room. Functions carry their instruction set as an attribute; they are
// called only where the CPU and the system offer it.
#include "peak.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::cli {
namespace {

constexpr int kAccumulators = 16;
constexpr int kRepetitions = 5;
constexpr std::int64_t kFewest = 1 << 16;  // iterations of the first, calibrating run
constexpr double kSeconds = 0.05;          // chosen: far above the clock's and the scheduler's grain

/// A loop of `iterations`, and the operations of one of them.
struct Kernel {
  void (*run)(std::int64_t iterations) noexcept;
  double operations;
};

// The compiler must believe that somebody reads the accumulators, and that their inputs may be anything.
#define TESSERA_KEEP(value, registers) asm volatile("" : "+" registers(value))

#if defined(__x86_64__)

__attribute__((target("sse2"))) void fp32_scalar(std::int64_t iterations) noexcept {
  float x = 1e-3f;
  float sums[kAccumulators] = {};
  TESSERA_KEEP(x, "x");
  for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (float& sum : sums) {
      sum += x * x;
      TESSERA_KEEP(sum, "x");
    }
  }
}

__attribute__((target("avx2,fma"))) void fp32_avx2(std::int64_t iterations) noexcept {
  __m256 x = _mm256_set1_ps(1e-3f);
  constexpr int kCount = 12;  // 16 registers: the rest are the inputs'
  __m256 sums[kCount] = {};
  TESSERA_KEEP(x, "x");
  for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (__m256& sum : sums) {
      sum = _mm256_fmadd_ps(x, x, sum);
      TESSERA_KEEP(sum, "x");
    }
  }
}

__attribute__((target("avx512f"))) void fp32_avx512(std::int64_t iterations) noexcept {
  __m512 x = _mm512_set1_ps(1e-3f);
  __m512 sums[kAccumulators] = {};
  TESSERA_KEEP(x, "v");
  for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(x, x, sum);
      TESSERA_KEEP(sum, "v");
    }
  }
}

__attribute__((target("avx512f,avx512vnni"))) void int8_vnni(std::int64_t iterations) noexcept {
  __m512i x = _mm512_set1_epi8(3);
  __m512i sums[kAccumulators] = {};
  TESSERA_KEEP(x, "v");
  for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (__m512i& sum : sums) {
      sum = _mm512_dpbusd_epi32(sum, x, x);
      TESSERA_KEEP(sum, "v");
    }
  }
}

__attribute__((target("avx512f,avx512bf16"))) void bf16_dot(std::int64_t iterations) noexcept {
  __m512i bits = _mm512_set1_epi16(0x3a83);  // 1e-3
  __m512 sums[kAccumulators] = {};
  TESSERA_KEEP(bits, "v");
  const __m512bh x = reinterpret_cast<__m512bh&>(bits);
  for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (__m512& sum : sums) {
      sum = _mm512_dpbf16_ps(sum, x, x);
      TESSERA_KEEP(sum, "v");
    }
  }
}

bool has_avx2() noexcept { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() noexcept { return __builtin_cpu_supports("avx512f"); }
bool has_vnni() noexcept { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }
bool has_bf16() noexcept { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }

#else

void fp32_scalar(std::int64_t iterations) noexcept {
  volatile float input = 1e-3f;
  const float x = input;
  float sums[kAccumulators] = {};
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (float& sum : sums) sum += x * x;
  }
  for (const float sum : sums) input = sum;
}

bool has_avx2() noexcept { return false; }
bool has_avx512() noexcept { return false; }
bool has_vnni() noexcept { return false; }
bool has_bf16() noexcept { return false; }
constexpr auto fp32_avx2 = fp32_scalar;
constexpr auto fp32_avx512 = fp32_scalar;
constexpr auto int8_vnni = fp32_scalar;
constexpr auto bf16_dot = fp32_scalar;

#endif

/// Seconds that all threads together need for `iterations` each, all starting at once.
double time_of(const Kernel& kernel, std::int64_t iterations, int threads) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds(static_cast<std::size_t>(threads));
  std::barrier gate(threads);
  {
    std::vector<std::jthread> workers;
    for (double& mine : seconds) {
      workers.emplace_back([&] {
        gate.arrive_and_wait();
        const auto start = Clock::now();
        kernel.run(iterations);
        mine = std::chrono::duration<double>(Clock::now() - start).count();
      });
    }
  }
  return *std::ranges::max_element(seconds);
}

double best_rate(const Kernel& kernel, int threads) {
  std::int64_t iterations = kFewest;
  double seconds = time_of(kernel, iterations, threads);
  while (seconds < kSeconds) {
    iterations *= 2;
    seconds = time_of(kernel, iterations, threads);
  }
  for (int i = 1; i < kRepetitions; ++i) seconds = std::min(seconds, time_of(kernel, iterations, threads));
  return kernel.operations * static_cast<double>(iterations) * threads / seconds;
}

}  // namespace

MachinePeak measure_peak(int threads) {
  MachinePeak peak;
  const auto offer = [&](const char* isa, const Kernel& kernel) {
    const double rate = best_rate(kernel, threads);
    if (rate <= peak.fp32) return;
    peak.fp32 = rate;
    peak.fp32_isa = isa;
  };
  offer("scalar", {fp32_scalar, 2 * kAccumulators});
  if (has_avx2()) offer("avx2", {fp32_avx2, 2 * 8 * 12});
  if (has_avx512()) offer("avx512", {fp32_avx512, 2 * 16 * kAccumulators});
  if (has_vnni()) peak.int8 = best_rate({int8_vnni, 2 * 64 * kAccumulators}, threads);
  if (has_bf16()) peak.bf16 = best_rate({bf16_dot, 2 * 32 * kAccumulators}, threads);
  return peak;
}

}  // namespace tessera::cli
