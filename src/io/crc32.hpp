// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "io/bytes.hpp"

namespace tessera::io {

/// Continues a CRC-32 (ZIP's, polynomial 0x04C11DB7 reflected) over `bytes`; start from 0.
std::uint32_t crc32_of(std::uint32_t crc, Bytes bytes) noexcept;

/// The same without any library: what a build without zlib uses. Always built, so that it is always tested.
std::uint32_t crc32_by_table(std::uint32_t crc, Bytes bytes) noexcept;

}  // namespace tessera::io
