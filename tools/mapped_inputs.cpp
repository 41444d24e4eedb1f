// SPDX-License-Identifier: Apache-2.0
#include "mapped_inputs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

#include "args.hpp"
#include "exit_codes.hpp"

namespace tessera::cli {
namespace {

/// A file as it was when it was opened. Plain arrays: a signal handler reads them.
struct Watched {
  std::array<char, 4096> path{};  // PATH_MAX
  off_t size = 0;
};

constexpr int kMostWatched = 8;  // chosen: no command opens more; files past them are not named

std::array<Watched, kMostWatched> watched_files;
std::atomic<int> watched_count{0};

/// Text put together without memory of its own: what a signal handler may do.
class SignalText {
 public:
  SignalText& operator<<(std::string_view text) noexcept {
    const std::size_t part = std::min(text.size(), text_.size() - size_);
    std::memcpy(text_.data() + size_, text.data(), part);
    size_ += part;
    return *this;
  }
  SignalText& operator<<(off_t number) noexcept {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  void print() const noexcept { (void)!::write(STDERR_FILENO, text_.data(), size_); }

 private:
  std::array<char, 5000> text_;
  std::size_t size_ = 0;
};

/// The file that has shrunk, or null; *size is what it has now.
const Watched* find_shrunk(off_t* size) noexcept {
  for (int i = 0; i < watched_count; ++i) {
    struct stat info{};
    const Watched& file = watched_files[static_cast<std::size_t>(i)];
    if (::stat(file.path.data(), &info) == 0 && info.st_size < file.size) {
      *size = info.st_size;
      return &file;
    }
  }
  return nullptr;
}

/// Only stat(), write() and _exit(): all that is safe when any instruction of any thread may have been interrupted.
extern "C" void tessera_on_bus_error(int) {
  SignalText text;
  off_t size = 0;
  if (::isatty(STDERR_FILENO) == 1) text << "\r\033[K";  // a progress bar may stand there
  if (const Watched* file = find_shrunk(&size)) {
    text << "tessera: '" << file->path.data() << "' was cut short while it was read: " << file->size
         << " bytes when it was opened, " << size << " now; start again once it is whole\n";
  } else {
    text << "tessera: a mapped file could not be read (bus error): its disk or network failed; try again\n";
  }
  text.print();
  ::_exit(kExitRuntime);
}

void watch(const std::string& path) {
  const int slot = watched_count;
  struct stat info{};
  if (slot == kMostWatched || ::stat(path.c_str(), &info) != 0) return;
  Watched& file = watched_files[static_cast<std::size_t>(slot)];
  if (path.size() >= file.path.size()) return;
  std::copy(path.begin(), path.end(), file.path.begin());
  file.size = info.st_size;
  watched_count = slot + 1;
}

}  // namespace

RowFile open_rows(const std::string& path, const ReadOptions& options) {
  std::signal(SIGBUS, tessera_on_bus_error);
  watch(file_of(path));
  return RowFile::open(path, options);
}

}  // namespace tessera::cli
