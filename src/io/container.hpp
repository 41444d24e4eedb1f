// SPDX-License-Identifier: Apache-2.0
// Here: which array of a container is meant. Not here: how containers are read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

/// An array inside a container, as messages list it.
struct ArrayEntry {
  std::string name;
  std::string type;  // "<f4", "F32", in the container's own words
  std::vector<std::uint64_t> shape;
};

struct ArrayQuestion {
  std::string file;            // for messages
  std::string wanted;          // NAME of FILE:NAME, or ""
  std::string_view preferred;  // taken when several 2-D arrays are there and none was named; "" for none
};

/// The array of that name; without one, the only array, the only 2-D one, or the preferred 2-D one.
/// returns  its place in `arrays`.
/// throws   Error{invalid_argument} listing what is there.
std::size_t choose_array(const std::vector<ArrayEntry>& arrays, const ArrayQuestion& question);

/// The text with control characters as '?', cut after `most` bytes: names inside files may be anything.
std::string printable(std::string_view text, std::size_t most = 80);

/// "(3, 4)", as Python writes it.
std::string shape_text(const std::vector<std::uint64_t>& shape);

}  // namespace tessera::io
