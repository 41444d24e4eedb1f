// SPDX-License-Identifier: Apache-2.0
#include "dump/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/fail.hpp"

namespace tessera::dump {

void fail_io(const std::string& what, const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  support::fail(ErrorCode::io, "cannot {} '{}': {}{}", what, path, std::strerror(error),
                full ? "; free some space and go on with --resume" : "");
}

File::File(std::string path, bool create, bool truncate)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0) | (truncate ? O_TRUNC : 0), 0666)) {
  if (!file_) fail_io(create ? "create" : "open", path_, errno);
}

File File::for_reading(const std::string& path) {
  File file;
  file.path_ = path;
  file.file_ = io::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.file_) fail_io("open", path, errno);
  return file;
}

void File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  const int error = io::write_at(file_.get(), offset, bytes);
  if (error != 0) fail_io("write", path_, error);
}

bool File::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = ::pread(file_.get(), bytes.data(), std::min(bytes.size(), io::kMostBytesPerCall), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_io("read", path_, errno);
    if (done == 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return true;
}

std::uint64_t File::size() const {
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) fail_io("look at", path_, errno);
  return static_cast<std::uint64_t>(info.st_size);
}

void File::reserve(std::uint64_t bytes) const {
  if (bytes == 0) return;
  // Not posix_fallocate(): glibc would write every block where the file system cannot reserve.
  int result = 0;
  do {
    result = ::fallocate(file_.get(), 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return;
  if (errno != EOPNOTSUPP && errno != ENOSYS) {
    const int error = errno;
    support::fail(ErrorCode::io, "cannot reserve {} bytes for '{}': {}{}", bytes, path_, std::strerror(error),
                  error == ENOSPC || error == EDQUOT ? "; free some space and go on with --resume" : "");
  }
  if (size() < bytes && ::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) fail_io("extend", path_, errno);
}

void File::sync() const {
  if (::fdatasync(file_.get()) != 0) fail_io("write", path_, errno);
}

void sync_folder(const std::string& folder) {
  const io::Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) (void)::fsync(opened.get());
}

}  // namespace tessera::dump
