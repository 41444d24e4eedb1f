// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tessera/rows.hpp"

namespace tessera::io {

/// The header of a .npy array [rows, cols], C order, version 1.0. descr: "<f4". Padded so that data start at a multiple
/// of 64.
std::string npy_header(std::string_view descr, Index rows, Index cols);

}  // namespace tessera::io
