// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "io/descriptor.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

/// Opens `path` and refuses what cannot be mapped. returns  the descriptor; *size is the file's.
Descriptor open_regular(const std::string& path, std::size_t* size) {
  // O_NONBLOCK so that opening a pipe without a writer returns, and is refused below, instead of hanging.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) fail(ErrorCode::io, "cannot open '{}': {}", path, std::strerror(errno));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) fail(ErrorCode::io, "cannot stat '{}': {}", path, std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail(ErrorCode::io, "cannot read '{}': {}", path, std::strerror(EISDIR));
  if (!S_ISREG(info.st_mode)) {
    fail(ErrorCode::io, "cannot map '{}': not a regular file (a pipe or device); save it to a file first", path);
  }
  *size = static_cast<std::size_t>(info.st_size);
  return file;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  std::size_t size = 0;
  const Descriptor file = open_regular(path, &size);
  if (size == 0) return;  // mmap refuses length 0; the caller says that the file is empty
  void* pages = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (pages == MAP_FAILED) fail(ErrorCode::io, "cannot map '{}' ({} bytes): {}", path, size, std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(pages), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace tessera::io
