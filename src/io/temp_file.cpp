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

std::string hidden_name(const std::string& target) {
  const std::string name = std::filesystem::path(target).filename().string();
  return (std::filesystem::path(folder_of(target)) / ("." + name + ".tmp-" + random_suffix())).string();
}

/// A file without a name, or no descriptor. *path leads to it through /proc, which naming it needs too.
Descriptor create_unnamed(const std::string& target, std::string* path) {
  Descriptor file(::open(folder_of(target).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666));
  if (!file) return file;
  *path = "/proc/self/fd/" + std::to_string(file.get());
  return ::access(path->c_str(), R_OK | W_OK) == 0 ? std::move(file) : Descriptor();
}

/// Not mkstemp: that gives mode 0600 whatever the umask, and the mode survives the rename.
Descriptor create_hidden(const std::string& target, std::string* path) {
  for (int i = 0; i < kTries; ++i) {
    *path = hidden_name(target);
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

TempFile::TempFile(std::string target, TempName name) : target_(std::move(target)) {
  buffer_.reserve(kBuffer);
  if (name == TempName::none_if_possible) file_ = create_unnamed(target_, &path_);
  if (file_) return;
  file_ = create_hidden(target_, &path_);
  named_ = true;
}

TempFile::~TempFile() {
  if (named_) ::unlink(path_.c_str());
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
  const int error = io::write_at(file_.get(), offset, bytes);
  if (error != 0) fail_write(error);
}

void TempFile::fail_exists() const {
  fail(ErrorCode::invalid_argument, "'{}' has appeared meanwhile; use --force to overwrite it", target_);
}

/// Only rename() can replace a file, and it needs a name to start from.
void TempFile::give_hidden_name() {
  for (int i = 0; i < kTries && !named_; ++i) {
    const std::string name = hidden_name(target_);
    named_ = ::linkat(AT_FDCWD, path_.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    if (named_) path_ = name;
    if (!named_ && errno != EEXIST) break;
  }
  if (!named_) fail_write(errno);
}

void TempFile::commit(bool overwrite) {
  flush();
  if (::fsync(file_.get()) != 0) fail_write(errno);
  struct stat info{};
  if (named_) {
    // Checked before the work began too; this only narrows the gap, as rename() itself always replaces.
    if (!overwrite && ::lstat(target_.c_str(), &info) == 0) fail_exists();
  } else if (overwrite) {
    give_hidden_name();
  } else if (::linkat(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    errno == EEXIST ? fail_exists() : fail_write(errno);
  }
  if (file_.close() != 0) fail_write(errno);
  if (named_ && ::rename(path_.c_str(), target_.c_str()) != 0) fail_write(errno);
  named_ = false;
  // Makes the new name itself durable. The data are safe by now and some file systems refuse this, so errors pass.
  const Descriptor folder(::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) (void)::fsync(folder.get());
}

}  // namespace tessera::io
