// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include <unistd.h>

#include "io/bytes.hpp"

namespace tessera::io {

/// Owns a POSIX file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  explicit operator bool() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }

  /// Closes now. returns  0, or -1 with errno: on network file systems a failed write may show only here.
  int close() noexcept { return fd_ < 0 ? 0 : ::close(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

// Linux transfers at most 0x7ffff000 bytes a call; stay below.
inline constexpr std::size_t kMostBytesPerCall = std::size_t{1} << 30;

/// Writes all bytes at an offset, in as many calls as it takes.
/// returns  0, or the error.
int write_at(int fd, std::uint64_t offset, Bytes bytes) noexcept;

}  // namespace tessera::io
