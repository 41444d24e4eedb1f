// SPDX-License-Identifier: Apache-2.0
// Here: the two 16-bit floats C++20 has no types for, in software, so that every machine gives the same bits.
#pragma once

#include <cstdint>

namespace tessera::support {

/// The nearest IEEE half, ties to even; past 65,519.99 it is inf. NaN stays NaN, the sign stays.
std::uint16_t half_of(double value) noexcept;
double double_of_half(std::uint16_t bits) noexcept;

/// The nearest bfloat16, ties to even.
std::uint16_t bfloat16_of(double value) noexcept;
double double_of_bfloat16(std::uint16_t bits) noexcept;

}  // namespace tessera::support
