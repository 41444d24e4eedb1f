// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tessera::support {

/// Asks for huge pages under whatever of this memory, not yet touched, they can lie under: rows written in no order miss the TLB each time otherwise. A wish, no more.
void prefer_large_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace tessera::support
