// SPDX-License-Identifier: Apache-2.0
// Here: a file that is read and written at offsets, with every failure an Error that names it. Not here: what the bytes mean.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/descriptor.hpp"

namespace tessera::dump {

class File {
 public:
  File() = default;
  /// Opens for reading and writing, creating it where `create` says so.
  File(std::string path, bool create, bool truncate = false);
  static File for_reading(const std::string& path);

  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
  /// False when the file ends before; a failure to read is an Error.
  bool read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::uint64_t size() const;
  /// Gives the file its full size: by fallocate(2), so that a full disk shows now; by ftruncate where the file system cannot.
  void reserve(std::uint64_t bytes) const;
  /// All data on the disk.
  void sync() const;

  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept { return file_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(file_); }

 private:
  std::string path_;
  io::Descriptor file_;
};

[[noreturn]] void fail_io(const std::string& what, const std::string& path, int error);
/// Makes names in a folder durable; some file systems refuse, which passes.
void sync_folder(const std::string& folder);

}  // namespace tessera::dump
