// SPDX-License-Identifier: Apache-2.0
#include "io/output_path.hpp"

#include <cerrno>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include "io/temp_file.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

void check_folder(const std::string& path) {
  const std::string folder = folder_of(path);
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0) {
    fail(ErrorCode::io, "cannot write '{}': folder '{}': {}", path, folder, std::strerror(errno));
  }
  if (!S_ISDIR(info.st_mode)) fail(ErrorCode::io, "cannot write '{}': '{}' is not a folder", path, folder);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    fail(ErrorCode::io, "cannot write '{}': folder '{}': {}", path, folder, std::strerror(errno));
  }
}

void check_target(const std::string& path, bool overwrite) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return;
  // Renaming over a device or a folder would destroy it, or fail after all the work.
  if (!S_ISREG(info.st_mode)) {
    fail(ErrorCode::invalid_argument, "'{}' exists and is not a regular file; choose another output", path);
  }
  if (!overwrite) fail(ErrorCode::invalid_argument, "'{}' exists; use --force to overwrite it, or another name", path);
}

}  // namespace

void check_output_path(const std::string& path, bool overwrite) {
  check_folder(path);
  check_target(path, overwrite);
}

}  // namespace tessera::io
