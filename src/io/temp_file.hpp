// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/byte_sink.hpp"
#include "io/descriptor.hpp"

namespace tessera::io {

/// Whether a file under way has a name.
enum class TempName : std::uint8_t {
  none_if_possible,  ///< none where the file system can (O_TMPFILE): even a killed process leaves nothing behind
  hidden             ///< `.NAME.tmp-XXXXXX` in the target's folder, as on file systems that cannot
};

/// A file being written in its target's folder. Until commit() there is no target, and without commit() nothing is left:
/// the file has no name, or the destructor removes it. Every failure throws Error{io} with the reason.
class TempFile final : public ByteSink {
 public:
  explicit TempFile(std::string target, TempName name = TempName::none_if_possible);
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() override;

  void append(Bytes bytes) override;                 ///< buffered
  void write_at(std::uint64_t offset, Bytes bytes);  ///< replaces bytes that were appended before
  std::uint64_t size() const noexcept { return written_ + buffer_.size(); }
  const std::string& path() const noexcept { return path_; }  ///< opens the file under way
  const std::string& target() const noexcept { return target_; }

  /// Flushes to the disk, then gives the file its name. Replaces an existing target only with `overwrite`.
  void commit(bool overwrite);

 private:
  void flush();
  void put(std::uint64_t offset, Bytes bytes);
  void give_hidden_name();
  [[noreturn]] void fail_write(int error) const;
  [[noreturn]] void fail_exists() const;

  std::string target_;
  std::string path_;
  Descriptor file_;
  bool named_ = false;  // path_ is a name in the folder, to be renamed or removed
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = 0;
};

/// The folder a path lies in: "." for a bare name.
std::string folder_of(const std::string& path);

}  // namespace tessera::io
