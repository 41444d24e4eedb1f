// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "io/temp_file.hpp"

namespace tessera::io {

/// Writes a ZIP archive of uncompressed members (APPNOTE.TXT 6.3, method 0), as numpy reads it: ZIP64 where sizes or
/// offsets pass 4 GiB. Nothing depends on the clock, so the same content gives the same bytes.
class ZipWriter final : public ByteSink {
 public:
  /// zip64_from   sizes and offsets from here on are written as ZIP64; smaller only in tests.
  explicit ZipWriter(TempFile& file, std::uint64_t zip64_from = std::numeric_limits<std::uint32_t>::max());

  void begin(std::string name, std::uint64_t size);  ///< `size` bytes must follow by append()
  void append(Bytes bytes) override;
  void end();     ///< of the member
  void finish();  ///< writes the central directory

 private:
  struct Member {
    std::string name;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;  // of its local header
    std::uint32_t crc = 0;
  };

  std::string local_header(const Member& member) const;
  std::string central_entry(const Member& member) const;
  std::string end_records(std::uint64_t start, std::uint64_t size) const;
  std::uint32_t clamp(std::uint64_t value) const noexcept;  ///< all ones stand for "see the ZIP64 field"
  bool is_large(std::uint64_t value) const noexcept { return value >= zip64_from_; }

  TempFile& file_;
  std::uint64_t zip64_from_;
  std::uint64_t left_ = 0;  // bytes of the current member still to come
  std::vector<Member> members_;
};

}  // namespace tessera::io
