// SPDX-License-Identifier: Apache-2.0
#include "support/aligned_buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>

namespace tessera::support {

void* allocate_aligned(std::size_t bytes) noexcept {
  const bool large = bytes >= 4 * kHugePage;
  const std::size_t unit = large ? kHugePage : kAlignment;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  if (rounded < bytes) return nullptr;
  void* p = std::aligned_alloc(unit, rounded);
  if (p != nullptr && large) ::madvise(p, rounded, MADV_HUGEPAGE);  // a wish: failing costs speed only
  return p;
}

void free_aligned(void* p) noexcept { std::free(p); }

}  // namespace tessera::support
