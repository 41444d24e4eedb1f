// SPDX-License-Identifier: Apache-2.0
// Here: the choice of a writer and every check before it writes. Not here: any format.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/format.hpp"
#include "io/writer.hpp"
#include "support/fail.hpp"

namespace tessera {

namespace {

using io::Writer;
using support::fail;

// The one list of formats written.
constexpr const Writer& (*kWriters[])() noexcept = {
    io::npz_writer, io::npy_writer, io::ibin_writer, io::ivecs_writer, io::csv_writer,
};

const Writer& choose_writer(const std::string& path, const std::string& asked) {
  const std::string name = io::lower(path);
  for (const auto get : kWriters) {
    const Writer& writer = get();
    if (asked.empty() ? name.ends_with(writer.suffix) : asked == writer.name) return writer;
  }
  if (!asked.empty()) {
    fail(ErrorCode::invalid_argument, "'{}' is not a format neighbour lists are written in; wanted one of {}", asked,
         fmt::join(writable_formats(), ", "));
  }
  fail(ErrorCode::invalid_argument, "'{}': the suffix tells no output format; wanted one of {}", path,
       fmt::join(writable_formats(), ", "));
}

void check_folder(const std::string& path) {
  const std::string folder = io::folder_of(path);
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

void check_shape(const std::string& path, const Neighbours& neighbours, const Writer& writer) {
  const auto rows = static_cast<std::size_t>(neighbours.rows);
  const auto k = static_cast<std::size_t>(neighbours.k);
  const std::size_t distances = std::max(neighbours.distances.size(), neighbours.distances64.size());
  std::size_t want = 0;
  const bool fits = neighbours.rows >= 0 && neighbours.k >= 1 && !__builtin_mul_overflow(rows, k, &want);
  if (!fits || neighbours.ids.size() != want || (writer.distances && distances != want)) {
    fail(ErrorCode::invalid_argument, "'{}': {} ids and {} distances for {} lists of {} neighbours; wanted one of each",
         path, neighbours.ids.size(), distances, neighbours.rows, neighbours.k);
  }
}

void check_int32(const std::string& path, const Neighbours& neighbours) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t id : neighbours.ids) {
    if (id >= kMin && id <= kMax) continue;
    fail(ErrorCode::invalid_argument, "'{}': id {} does not fit int32 (at most {}); write .npz with --ids int64", path,
         id, kMax);
  }
}

}  // namespace

void check_writable(const std::string& path, const WriteOptions& options) {
  choose_writer(path, options.format);
  check_folder(path);
  check_target(path, options.overwrite);
}

void write_neighbours(const std::string& path, const Neighbours& neighbours, const WriteOptions& options) {
  check_writable(path, options);
  const Writer& writer = choose_writer(path, options.format);
  check_shape(path, neighbours, writer);
  if (options.ids_int32 || writer.int32_only) check_int32(path, neighbours);
  io::TempFile out(path);
  writer.write(out, neighbours, options);
  out.commit(options.overwrite);
}

std::vector<std::string> writable_formats() {
  std::vector<std::string> names;
  for (const auto get : kWriters) names.emplace_back(get().suffix);
  return names;
}

}  // namespace tessera
