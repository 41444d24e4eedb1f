// SPDX-License-Identifier: Apache-2.0
#include "dump/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/bytes.hpp"
#include "io/temp_file.hpp"
#include "support/fail.hpp"

namespace tessera::dump {
namespace {

using support::fail;

constexpr char kMagic[] = "TESSDUMP";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kHeaderBytes = 4096;
constexpr std::uint64_t kFixedBytes = 16;  // magic, version, length of the fingerprint
constexpr std::uint64_t kSlotBytes = 8;
// Byte 0 is locked while a dump begins, byte 1 while it is written: exclusively by one process, or shared by shards.
constexpr off_t kBeginByte = 0;
constexpr off_t kWriteByte = 1;

/// Open-file-description locks: they end with the process, however it ends, and work over NFS.
bool lock(int fd, short type, off_t byte, bool wait) noexcept {
  struct flock request {};
  request.l_type = type;
  request.l_whence = SEEK_SET;
  request.l_start = byte;
  request.l_len = 1;
  int result = 0;
  do {
    result = ::fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &request);
  } while (result != 0 && errno == EINTR);
  // A file system without locks is no reason not to write.
  return result == 0 || (errno != EAGAIN && errno != EACCES);
}

/// Whether a path still leads to an opened file.
bool is_at(const File& file, const std::string& path) noexcept {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.fd(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

std::string journal_path(const std::string& dump_path) { return dump_path + ".tiles"; }

Journal::Journal(const std::string& dump_path, Access access) : access_(access) {
  const std::string path = journal_path(dump_path);
  if (access == Access::reading) {
    if (::access(path.c_str(), F_OK) != 0) fail(ErrorCode::io, "'{}' has no journal '{}' beside it: it is no dump, or its journal was removed", dump_path, path);
    file_ = File::for_reading(path);
  } else {
    do {
      file_ = File(path, true);
      lock(file_.fd(), F_WRLCK, kBeginByte, true);
    } while (!is_at(file_, path));  // another process gave up and removed it while this one waited
    if (!lock(file_.fd(), access == Access::shared ? F_RDLCK : F_WRLCK, kWriteByte, false)) {
      fail(ErrorCode::io, "'{}' is being written by another process: wait for it, or choose another name", dump_path);
    }
  }
  std::byte head[kHeaderBytes] = {};
  const bool whole = file_.read_at(0, head);
  // One whose process ended before it was written is empty, or of zeros; anything else is a stranger's.
  const bool blank = std::ranges::all_of(head, [](std::byte b) { return b == std::byte{0}; });
  if (blank && access != Access::reading) return;
  if (blank || std::memcmp(head, kMagic, 8) != 0) {
    fail(access == Access::reading ? ErrorCode::malformed_input : ErrorCode::invalid_argument,
         "'{}' is not a journal of Tessera: remove it, or choose another name", path);
  }
  const auto version = io::load_le<std::uint32_t>(head + 8);
  const auto length = io::load_le<std::uint32_t>(head + 12);
  if (version != kVersion || length > kHeaderBytes - kFixedBytes) {
    fail(ErrorCode::malformed_input, "'{}' has version {}, this build knows {}: remove it, and start again with --force", path, version, kVersion);
  }
  if (!whole) fail(ErrorCode::malformed_input, "'{}' ends inside its header: remove it, and start again with --force", path);
  fingerprint_.assign(reinterpret_cast<const char*>(head) + kFixedBytes, length);
}

Journal::~Journal() {
  // A dump that failed before it began leaves nothing behind.
  if (file_ && access_ != Access::reading && fingerprint_.empty() && file_.size() == 0) remove();
}

void Journal::remove() noexcept { ::unlink(file_.path().c_str()); }

void Journal::create(const std::string& fingerprint, Index tiles) {
  if (fingerprint.size() > kHeaderBytes - kFixedBytes) fail(ErrorCode::internal, "a fingerprint of {} bytes", fingerprint.size());
  if (::ftruncate(file_.fd(), 0) != 0) fail_io("empty", file_.path(), errno);
  file_.reserve(kHeaderBytes + kSlotBytes * static_cast<std::uint64_t>(tiles));
  std::string header(kMagic, 8);
  io::append_le<std::uint32_t>(header, kVersion);
  io::append_le<std::uint32_t>(header, static_cast<std::uint32_t>(fingerprint.size()));
  header += fingerprint;
  header.resize(kHeaderBytes);
  file_.write_at(0, io::as_bytes(header));
  file_.sync();
  sync_folder(io::folder_of(file_.path()));
  fingerprint_ = fingerprint;
  done_.assign(static_cast<std::size_t>(tiles), 0);
  crc_.assign(static_cast<std::size_t>(tiles), 0);
}

void Journal::load(Index tiles) {
  const auto count = static_cast<std::size_t>(tiles);
  done_.assign(count, 0);
  crc_.assign(count, 0);
  std::vector<std::byte> slots(count * kSlotBytes);
  // What a crash cut off is not done.
  const std::uint64_t there = file_.size();
  const std::uint64_t held = there > kHeaderBytes ? std::min<std::uint64_t>((there - kHeaderBytes) / kSlotBytes, count) : 0;
  if (held > 0) (void)file_.read_at(kHeaderBytes, std::span(slots).first(held * kSlotBytes));
  for (std::size_t t = 0; t < held; ++t) {
    crc_[t] = io::load_le<std::uint32_t>(slots.data() + t * kSlotBytes);
    done_[t] = io::load_le<std::uint32_t>(slots.data() + t * kSlotBytes + 4) == 1 ? 1 : 0;
  }
}

void Journal::begun() {
  if (access_ != Access::reading) lock(file_.fd(), F_UNLCK, kBeginByte, false);
}

Index Journal::count_done() const noexcept { return std::count(done_.begin(), done_.end(), char{1}); }

void Journal::forget(Index tile) {
  done_[static_cast<std::size_t>(tile)] = 0;
  const std::byte zeros[kSlotBytes] = {};
  file_.write_at(kHeaderBytes + kSlotBytes * static_cast<std::uint64_t>(tile), zeros);
}

void Journal::mark(std::vector<TileMark> marks) {
  std::ranges::sort(marks, {}, &TileMark::tile);
  for (std::size_t first = 0; first < marks.size();) {
    std::string slots;
    std::size_t last = first;
    for (; last < marks.size() && marks[last].tile == marks[first].tile + static_cast<Index>(last - first); ++last) {
      io::append_le<std::uint32_t>(slots, marks[last].crc);
      io::append_le<std::uint32_t>(slots, std::uint32_t{1});
    }
    file_.write_at(kHeaderBytes + kSlotBytes * static_cast<std::uint64_t>(marks[first].tile), io::as_bytes(slots));
    first = last;
  }
  file_.sync();
}

}  // namespace tessera::dump
