// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "io/bytes.hpp"

namespace tessera::io {

/// The header of a .npy array, as written.
struct NpyHeader {
  std::string descr;  // "<f4"; a structured type is kept as its Python text
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_offset = 0;  // bytes before the elements
};

/// Longest header accepted. numpy itself refuses more than 10,000 characters unless told otherwise.
inline constexpr std::uint64_t kNpyHeaderMax = 1 << 20;

bool has_npy_magic(Bytes bytes) noexcept;

/// Reads magic, version (1 to 3) and the Python dict. `bytes` may end anywhere after the header.
/// name     what messages call the file.
/// throws   Error{malformed_input}.
NpyHeader parse_npy_header(Bytes bytes, const std::string& name);

struct NpyType {
  DType dtype = DType::f32;
  std::endian order = std::endian::little;
};

/// The element type; |b1 is read as uint8 (0 and 1).
/// throws   Error{unsupported} with the reason: objects, structures, complex, strings, ...
NpyType npy_type(const std::string& descr, const std::string& name);

}  // namespace tessera::io
