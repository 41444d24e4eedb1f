// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/bytes.hpp"

namespace tessera::io {

/// False in a build without libzip: then opening an archive throws Error{unsupported}.
bool can_unzip() noexcept;

/// A ZIP archive in memory, read through its central directory (ZIP64 included).
class ZipArchive {
 public:
  /// bytes    the whole archive; must outlive this.
  /// throws   Error{malformed_input} when it is no archive or is cut short; Error{unsupported} without libzip.
  ZipArchive(Bytes bytes, const std::string& name);
  ~ZipArchive();

  std::vector<std::string> members() const;

  /// The first `limit` bytes of a member, uncompressed; all of it, checked against its CRC-32, when shorter.
  std::vector<std::byte> read(std::size_t member, std::uint64_t limit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::io
