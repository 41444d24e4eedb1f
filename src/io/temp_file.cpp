// SPDX-License-Identifier: Apache-2.0
#include "io/temp_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include <fcntl.h>
#include <sys/stat.h>

#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

// Past a few hundred KiB a larger write() gains nothing; 1 MiB keeps the calls rare.
constexpr std::size_t kBuffer = std::size_t{1} << 20;
// Linux transfers at most 0x7ffff000 bytes a call; stay below.
constexpr std::size_t kMaxWrite = std::size_t{1} << 30;
// Names tried before giving up: six of 62 characters practically never collide.
constexpr int kTries = 100;

std::string random_suffix() {
  static constexpr char kLetters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::random_device random;
  std::uniform_int_distribution<std::size_t> pick(0, sizeof(kLetters) - 2);
  std::string suffix;
  for (int i = 0; i < 6; ++i) suffix.push_back(kLetters[pick(random)]);
  return suffix;
}

/// Creates the temporary file. Not mkstemp: that gives mode 0600 whatever the umask, and the mode survives the rename.
Descriptor create(const std::string& target, std::string* path) {
  const std::string name = std::filesystem::path(target).filename().string();
  const std::string start = (std::filesystem::path(folder_of(target)) / ("." + name + ".tmp-")).string();
  for (int i = 0; i < kTries; ++i) {
    *path = start + random_suffix();
    Descriptor file(::open(path->c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file) return file;
    if (errno != EEXIST) break;
  }
  fail(ErrorCode::io, "cannot create a file for '{}' in '{}': {}", target, folder_of(target), std::strerror(errno));
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

TempFile::TempFile(std::string target) : target_(std::move(target)) {
  buffer_.reserve(kBuffer);
  file_ = create(target_, &path_);
}

TempFile::~TempFile() {
  if (!committed_) ::unlink(path_.c_str());
}

void TempFile::fail_write(int error) const {
  const bool full = error == ENOSPC || error == EDQUOT;
  fail(ErrorCode::io, "cannot write '{}' after {} bytes: {}{}; nothing is left behind", target_, written_,
       std::strerror(error), full ? "; free some space or write elsewhere" : "");
}

void TempFile::append(Bytes bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), kBuffer - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(part));
    bytes = bytes.subspan(part);
    if (buffer_.size() == kBuffer) flush();
  }
}

void TempFile::flush() {
  put(written_, buffer_);
  written_ += buffer_.size();
  buffer_.clear();
}

void TempFile::write_at(std::uint64_t offset, Bytes bytes) {
  if (offset + bytes.size() > written_) flush();
  put(offset, bytes);
}

void TempFile::put(std::uint64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t done =
        ::pwrite(file_.get(), bytes.data(), std::min(bytes.size(), kMaxWrite), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail_write(done < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
}

void TempFile::commit(bool overwrite) {
  flush();
  if (::fsync(file_.get()) != 0) fail_write(errno);
  if (file_.close() != 0) fail_write(errno);
  struct stat info{};
  // Checked before the work began too; this only narrows the gap, as rename() itself always replaces.
  if (!overwrite && ::lstat(target_.c_str(), &info) == 0) {
    fail(ErrorCode::invalid_argument, "'{}' has appeared meanwhile; use --force to overwrite it", target_);
  }
  if (::rename(path_.c_str(), target_.c_str()) != 0) fail_write(errno);
  committed_ = true;
  // Makes the new name itself durable. The data are safe by now and some file systems refuse this, so errors pass.
  const Descriptor folder(::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) (void)::fsync(folder.get());
}

}  // namespace tessera::io
