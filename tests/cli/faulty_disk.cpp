// SPDX-License-Identifier: Apache-2.0
// Preloaded into the command by the tests, this stands in for a disk that fails: writes that take a part of what they are given and are interrupted,
// or an error from the n-th call on. FAULTY_DISK is "short", or CALL:N:ERRNO with CALL pwrite or sync; FAULTY_NAME a part of the path of the files meant.
// FAULTY_COUNT names a file that is given how many calls were tampered with.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <unistd.h>

namespace {

/// How many calls were tampered with; told at the end.
struct Tally {
  std::atomic<long> calls{0};
  ~Tally() {
    const char* path = std::getenv("FAULTY_COUNT");
    std::FILE* file = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (file == nullptr) return;
    std::fprintf(file, "%ld\n", calls.load());
    std::fclose(file);
  }
} tally;

struct Fault {
  bool partial = false;
  char call[8] = "";
  long from = 0;
  int error = 0;
};

Fault read_fault() {
  Fault fault;
  const char* text = std::getenv("FAULTY_DISK");
  if (text == nullptr) return fault;
  fault.partial = std::strcmp(text, "short") == 0;
  if (!fault.partial && std::sscanf(text, "%7[a-z]:%ld:%d", fault.call, &fault.from, &fault.error) != 3) std::abort();
  return fault;
}

bool is_meant(int fd) {
  const char* name = std::getenv("FAULTY_NAME");
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length < 0 || name == nullptr) return false;
  path[length] = '\0';
  return std::strstr(path, name) != nullptr;
}

/// Whether this call is the n-th of its kind, or a later one.
bool fails(const Fault& fault, const char* call, std::atomic<long>& calls) {
  const bool does = std::strcmp(fault.call, call) == 0 && ++calls >= fault.from;
  tally.calls += does ? 1 : 0;
  return does;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

const Fault& fault() {
  static const Fault read = read_fault();
  return read;
}

ssize_t write_or_fail(const char* name, int fd, const void* bytes, size_t count, off_t offset) {
  static std::atomic<long> calls{0};
  static std::atomic<long> parts{0};
  using Write = ssize_t (*)(int, const void*, size_t, off_t);
  const auto really = next<Write>(name);
  if (!is_meant(fd)) return really(fd, bytes, count, offset);
  if (fails(fault(), "pwrite", calls)) {
    errno = fault().error;
    return -1;
  }
  tally.calls += fault().partial ? 1 : 0;
  if (fault().partial && ++parts % 3 == 0) {
    errno = EINTR;
    return -1;
  }
  return really(fd, bytes, fault().partial && count > 1 ? count / 2 : count, offset);
}

int sync_or_fail(const char* name, int fd) {
  static std::atomic<long> calls{0};
  if (is_meant(fd) && fails(fault(), "sync", calls)) {
    errno = fault().error;
    return -1;
  }
  return next<int (*)(int)>(name)(fd);
}

}  // namespace

#define FAULTY_CALL __attribute__((visibility("default")))
extern "C" {
FAULTY_CALL ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) { return write_or_fail("pwrite", fd, bytes, count, offset); }
FAULTY_CALL ssize_t pwrite64(int fd, const void* bytes, size_t count, off_t offset) { return write_or_fail("pwrite64", fd, bytes, count, offset); }
FAULTY_CALL int fdatasync(int fd) { return sync_or_fail("fdatasync", fd); }
FAULTY_CALL int fsync(int fd) { return sync_or_fail("fsync", fd); }
}
