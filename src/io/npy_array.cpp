// SPDX-License-Identifier: Apache-2.0
#include "io/npy_array.hpp"

#include <fmt/format.h>

#include "io/bytes.hpp"
#include "io/container.hpp"

namespace tessera::io {

std::string npy_header(std::string_view descr, Index rows, Index cols) { return npy_header(descr, {rows, cols}); }

std::string npy_header(std::string_view descr, const std::vector<Index>& shape, std::size_t align) {
  constexpr std::size_t kStart = 10;  // magic, version, u16 length
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr,
                                 shape_text({shape.begin(), shape.end()}));
  dict.append(align - (kStart + dict.size() + 1) % align, ' ');
  dict.push_back('\n');
  std::string header("\x93NUMPY\x01\x00", 8);
  append_le<std::uint16_t>(header, static_cast<std::uint16_t>(dict.size()));
  return header + dict;
}

}  // namespace tessera::io
