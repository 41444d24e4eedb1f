// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/rows.hpp"

namespace tessera::io {

/// The header of a .npy array, C order, version 1.0. descr: "<f4"; shape {}: a single value. Padded so that data start at
/// a multiple of `align`; 64 is numpy's own, and a mapped array is then aligned.
std::string npy_header(std::string_view descr, const std::vector<Index>& shape, std::size_t align = 64);
std::string npy_header(std::string_view descr, Index rows, Index cols);

}  // namespace tessera::io
