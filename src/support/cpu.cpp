// SPDX-License-Identifier: Apache-2.0
#include "support/cpu.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace tessera::support {
namespace {

/// First number in a one-line file, or `fallback` ("max" in cgroup files means no limit).
std::uint64_t read_number(const char* path, std::uint64_t fallback) {
  std::ifstream in(path);
  std::uint64_t value = 0;
  return (in >> value) ? value : fallback;
}

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

std::uint64_t mem_available() {
  std::ifstream in("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (in >> key >> kib >> unit) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return std::uint64_t{1} << 30;
}

}  // namespace

CpuFeatures cpu_features() noexcept {
  CpuFeatures f;
#if defined(__x86_64__)
  // GCC's and clang's builtins read CPUID and XGETBV, so a kernel that does not save zmm state says no here.
  __builtin_cpu_init();
  f.avx2_fma_f16c = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  f.avx512 = f.avx2_fma_f16c && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  f.vnni = f.avx512 && __builtin_cpu_supports("avx512vnni");
  f.bf16 = f.avx512 && __builtin_cpu_supports("avx512bf16");
#endif
  return f;
}

std::int64_t l2_cache_bytes() noexcept {
  const long bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : std::int64_t{1} << 20;
}

int usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::uint64_t available_memory() noexcept {
  try {
    const std::uint64_t limit = read_number("/sys/fs/cgroup/memory.max", kUnlimited);
    const std::uint64_t used = read_number("/sys/fs/cgroup/memory.current", 0);
    const std::uint64_t headroom = limit == kUnlimited ? kUnlimited : limit - std::min(used, limit);
    return std::min(mem_available(), headroom);
  } catch (...) {
    return std::uint64_t{1} << 30;
  }
}

}  // namespace tessera::support
