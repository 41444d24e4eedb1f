// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/byte_sink.hpp"
#include "io/descriptor.hpp"

namespace tessera::io {

/// A file being written under a temporary name `.NAME.tmp-XXXXXX` in its target's folder. Until commit() there is no
/// target, and without commit() the destructor removes the temporary file: an exception, or an interrupt that unwinds,
/// leaves nothing behind. Every failure throws Error{io} with the reason.
class TempFile final : public ByteSink {
 public:
  explicit TempFile(std::string target);
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() override;

  void append(Bytes bytes) override;                 ///< buffered
  void write_at(std::uint64_t offset, Bytes bytes);  ///< replaces bytes that were appended before
  std::uint64_t size() const noexcept { return written_ + buffer_.size(); }
  const std::string& path() const noexcept { return path_; }  ///< the temporary name
  const std::string& target() const noexcept { return target_; }

  /// Flushes to the disk, then renames to the target. Replaces an existing target only with `overwrite`.
  void commit(bool overwrite);

 private:
  void flush();
  void put(std::uint64_t offset, Bytes bytes);
  [[noreturn]] void fail_write(int error) const;

  std::string target_;
  std::string path_;
  Descriptor file_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = 0;
  bool committed_ = false;
};

/// The folder a path lies in: "." for a bare name.
std::string folder_of(const std::string& path);

}  // namespace tessera::io
