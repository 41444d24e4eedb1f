// SPDX-License-Identifier: Apache-2.0
#include "support/aligned_buffer.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "support/large_pages.hpp"

namespace tessera::support {

void* allocate_aligned(std::size_t bytes) noexcept {
  const bool large = bytes >= 2 * kHugePage;
  const std::size_t unit = large ? kHugePage : kAlignment;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  if (rounded < bytes) return nullptr;
  void* p = std::aligned_alloc(unit, rounded);
  if (p != nullptr && large) ::madvise(p, rounded, MADV_HUGEPAGE);  // a wish: failing costs speed only
  return p;
}

void prefer_large_pages(void* memory, std::size_t bytes) noexcept {
  const auto first = (reinterpret_cast<std::uintptr_t>(memory) + kHugePage - 1) / kHugePage * kHugePage;
  const auto last = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / kHugePage * kHugePage;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

void free_aligned(void* p) noexcept { std::free(p); }

}  // namespace tessera::support
