// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/bytes.hpp"

namespace tessera::io {

/// False in a build without zlib.
bool can_gunzip() noexcept;

bool has_gzip_magic(Bytes bytes) noexcept;

struct Unpacked {
  std::shared_ptr<const std::vector<std::byte>> bytes;
  bool complete = true;  // false: the stream ends early, and `bytes` is what it holds
};

/// Decompresses gzip data; several streams in a row are one content.
/// throws   Error{malformed_input} for broken data; Error{unsupported} without zlib.
Unpacked gunzip(Bytes bytes, const std::string& name);

}  // namespace tessera::io
