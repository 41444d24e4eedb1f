// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::dump {

/// Continues a CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected) over `bytes`; start from 0. By the CPU's own instruction
/// where there is one.
std::uint32_t crc32c(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

/// The same by table. Always built, so that it is always tested.
std::uint32_t crc32c_by_table(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

}  // namespace tessera::dump
