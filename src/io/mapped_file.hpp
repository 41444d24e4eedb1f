// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "io/bytes.hpp"

namespace tessera::io {

/// A whole file, mapped read-only. The pages stay the file's own: a file that is cut short while it is mapped makes
/// reading past its end a bus error, so outputs are never written over a mapped input (they are renamed into place).
class MappedFile {
 public:
  MappedFile() = default;
  /// throws   Error{io}: missing, no permission, a directory, a pipe.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  Bytes bytes() const noexcept { return bytes_; }

 private:
  Bytes bytes_;
};

}  // namespace tessera::io
