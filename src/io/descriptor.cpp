// SPDX-License-Identifier: Apache-2.0
#include "io/descriptor.hpp"

#include <algorithm>
#include <cerrno>

namespace tessera::io {

int write_at(int fd, std::uint64_t offset, Bytes bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd, bytes.data(), std::min(bytes.size(), kMostBytesPerCall), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return 0;
}

}  // namespace tessera::io
