// SPDX-License-Identifier: Apache-2.0
// Here: the choice of a writer and every check before it writes. Not here: any format.
#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

#include "io/format.hpp"
#include "io/output_path.hpp"
#include "io/writer.hpp"
#include "support/fail.hpp"

namespace tessera {

namespace {

using io::Writer;
using support::fail;

// The one list of formats written.
constexpr const Writer& (*kWriters[])() noexcept = {
    io::npz_writer, io::h5_writer, io::npy_writer, io::ibin_writer, io::ivecs_writer, io::csv_writer,
};

bool has_suffix(const std::string& lower_path, const Writer& writer) {
  return lower_path.ends_with(writer.suffix) ||
         (!writer.other_suffix.empty() && lower_path.ends_with(writer.other_suffix));
}

/// The writer, of this build or not.
const Writer& find_writer(const std::string& path, const std::string& asked) {
  const std::string name = io::lower(path);
  for (const auto get : kWriters) {
    const Writer& writer = get();
    if (asked.empty() ? has_suffix(name, writer) : asked == writer.name) return writer;
  }
  if (!asked.empty()) {
    fail(ErrorCode::invalid_argument, "'{}' is not a format neighbour lists are written in; wanted one of {}", asked,
         fmt::join(writable_formats(), ", "));
  }
  fail(ErrorCode::invalid_argument, "'{}': the suffix tells no output format; wanted one of {}", path,
       fmt::join(writable_formats(), ", "));
}

const Writer& choose_writer(const std::string& path, const std::string& asked) {
  const Writer& writer = find_writer(path, asked);
  if (writer.missing != nullptr) {
    fail(ErrorCode::unsupported, "'{}': this build has no {}, so {} files are not written; wanted one of {}", path,
         writer.missing, writer.suffix, fmt::join(writable_formats(), ", "));
  }
  return writer;
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
    fail(ErrorCode::invalid_argument, "'{}': id {} does not fit int32 (at most {}); write .npz with int64 ids", path,
         id, kMax);
  }
}

}  // namespace

void check_writable(const std::string& path, const WriteOptions& options) {
  choose_writer(path, options.format);
  io::check_output_path(path, options.overwrite);
}

void write_neighbours(const std::string& path, const Neighbours& neighbours, const WriteOptions& options) {
  check_writable(path, options);
  const Writer& writer = choose_writer(path, options.format);
  check_shape(path, neighbours, writer);
  if (options.ids_int32 || writer.int32_only) check_int32(path, neighbours);
  io::TempFile out(path, writer.by_path ? io::TempName::hidden : io::TempName::none_if_possible);
  writer.write(out, neighbours, options);
  out.commit(options.overwrite);
}

void write_shifts(const std::string& path, const Neighbours& neighbours, bool overwrite) {
  if (neighbours.shifts.size() != 3 * neighbours.ids.size()) {
    fail(ErrorCode::invalid_argument, "'{}': {} shift numbers for {} neighbours; ask the search for shifts", path, neighbours.shifts.size(), neighbours.ids.size());
  }
  io::check_output_path(path, overwrite);
  io::TempFile out(path);
  io::write_npy_shifts(out, neighbours);
  out.commit(overwrite);
}

std::vector<std::string> writable_formats() {
  std::vector<std::string> names;
  for (const auto get : kWriters) {
    if (get().missing == nullptr) names.emplace_back(get().suffix);
  }
  return names;
}

}  // namespace tessera
