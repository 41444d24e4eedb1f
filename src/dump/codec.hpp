// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::dump {

/// Compressors of this build: "gzip" where zlib was found, "zstd" where libzstd was.
std::vector<std::string_view> codecs();

/// "": a copy; "gzip": a gzip stream; "zlib": a zlib stream; "zstd".
std::vector<std::byte> compress(std::string_view codec, std::span<const std::byte> bytes);
/// out is filled whole. False: broken, or another length.
bool decompress(std::string_view codec, std::span<const std::byte> bytes, std::span<std::byte> out);

}  // namespace tessera::dump
