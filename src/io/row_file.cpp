// SPDX-License-Identifier: Apache-2.0
// Here: from a path to rows: the mapping, gzip, the choice of a reader. Not here: any format.
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <sys/stat.h>

#include "io/element.hpp"
#include "io/format.hpp"
#include "io/gunzip.hpp"
#include "io/mapped_file.hpp"
#include "io/open_bytes.hpp"
#include "support/fail.hpp"

namespace tessera {

struct RowFile::Impl {
  std::string path;
  std::string format;
  io::MappedFile mapping;
  io::Unpacked unpacked;  // the content of a .gz file
  io::Decoded decoded;
  std::vector<double> support;  // of histograms
};

namespace io {
namespace {

using support::fail;

struct Place {
  std::string file;
  std::string member;  // "" without one
};

bool exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

/// Splits FILE:NAME; a file whose own name has a colon comes first.
Place split_place(const std::string& path) {
  const std::size_t colon = path.rfind(':');
  if (colon == std::string::npos || exists(path)) return {path, ""};
  const std::string file = path.substr(0, colon);
  const Format* format = find_by_suffix(file);
  if (!exists(file) && (format == nullptr || !format->container)) return {path, ""};
  return {file, path.substr(colon + 1)};
}

std::string_view without_gz(std::string_view path) {
  return lower(path).ends_with(".gz") ? path.substr(0, path.size() - 3) : path;
}

/// bytes    the content, uncompressed if it can be.
const Format& choose_format(std::string_view file, Bytes bytes, const std::string& asked) {
  const Format* format = nullptr;
  if (!asked.empty()) {
    format = find_by_name(asked);
    if (format == nullptr) {
      fail(ErrorCode::invalid_argument, "'{}' is not a format; wanted one of {}", asked, list_of_suffixes());
    }
    return *format;
  }
  format = find_by_suffix(without_gz(file));
  if (format == nullptr) format = find_by_content(bytes);
  if (format == nullptr) {
    fail(ErrorCode::invalid_argument, "'{}': the suffix tells no format; rename it or use --in-format; known: {}", file,
         list_of_suffixes());
  }
  return *format;
}

/// True when `bytes` are gzip data around the content. Of the formats without a suffix or magic of their own, raw
/// vectors may start with any bytes, so their magic alone proves nothing; and a safetensors file may by chance.
bool is_packed(std::string_view file, Bytes bytes, const std::string& asked) {
  if (!has_gzip_magic(bytes)) return false;
  if (lower(file).ends_with(".gz")) return true;
  const Format* format = asked.empty() ? find_by_suffix(file) : find_by_name(asked);
  return format == nullptr || (format->sniff != nullptr && !format->sniff(bytes));
}

/// Unpacks `bytes` in place when they are gzip data.
void unpack(RowFile::Impl& impl, Bytes& bytes, const std::string& name, const ReadOptions& options) {
  if (!is_packed(name, bytes, options.format)) return;
  impl.unpacked = gunzip(bytes, name);
  bytes = *impl.unpacked.bytes;
  impl.mapping = {};  // the packed bytes are done with
  // A range may still lie in the rows that are there: the reader decides.
  if (!impl.unpacked.complete && options.last_row < 0) {
    fail(ErrorCode::malformed_input,
         "'{}' is truncated: its gzip data end early, after {} bytes of content; fetch it again", name, bytes.size());
  }
}

/// The points that counts stand for: those of a file, or 0, 1, 2, ...
std::vector<double> read_support(const std::string& path, const RowSet& counts, const std::string& counts_path) {
  if (counts.offsets != nullptr) {
    fail(ErrorCode::malformed_input, "'{}': ragged rows are no histograms on a common support; wanted counts [m, s]", counts_path);
  }
  std::vector<double> points(static_cast<std::size_t>(counts.cols));
  if (path.empty()) {
    std::iota(points.begin(), points.end(), 0.0);
    return points;
  }
  const RowFile file = RowFile::open(path);
  const RowSet& rows = file.rows();
  if (rows.rows * rows.cols != counts.cols || (rows.rows != 1 && rows.cols != 1)) {
    fail(ErrorCode::malformed_input, "'{}': [{}, {}] support points, but the histograms of '{}' have {} bins; wanted one each", path, rows.rows, rows.cols,
         counts_path, counts.cols);
  }
  with_type(rows.dtype, [&](auto type) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto at = static_cast<Index>(i);
      const std::byte* p = rows.rows == 1 ? rows.row(0) + at * rows.col_stride : rows.row(at);
      if (narrow_to(widen(load_element<decltype(type)>(p, rows.byte_swapped)), points[i]) != Fit::exact) {
        fail(ErrorCode::malformed_input, "'{}': support point {} is not a float64", path, i);
      }
    }
  });
  return points;
}

void decode(RowFile::Impl& impl, Bytes bytes, const Place& place, const ReadOptions& options) {
  if (bytes.empty()) {
    fail(ErrorCode::malformed_input, "'{}' is empty (0 bytes); wanted rows of numbers; fetch or write it again",
         place.file);
  }
  unpack(impl, bytes, place.file, options);
  const Format& format = choose_format(place.file, bytes, options.format);
  if (!place.member.empty() && !format.container) {
    fail(ErrorCode::invalid_argument, "'{}:{}': {} files hold one array without a name; leave ':{}' out", place.file,
         place.member, format.name, place.member);
  }
  impl.format = format.name;
  const bool as_distributions = options.distributions.wanted && format.read_distributions != nullptr;
  impl.decoded = (as_distributions ? format.read_distributions : format.read)({.bytes = bytes,
                              .name = place.file,
                              .member = place.member,
                              .format = format.name,
                              .first_row = options.first_row,
                              .last_row = options.last_row,
                              .role = options.role,
                              .batched = options.batched,
                              .frame = options.frame});
  if (impl.decoded.owner == nullptr || impl.decoded.views_input) return;
  impl.unpacked = {};  // the rows are elsewhere: let go of what they came from
  impl.mapping = {};
}

/// Makes histograms of counts, and a grid of rows.
void shape_distributions(RowFile::Impl& impl, const DistributionOptions& options) {
  RowSet& rows = impl.decoded.rows;
  if (options.histogram) {
    impl.support = read_support(options.support, rows, impl.path);
    rows = histograms(impl.support.data(), rows);
  }
  if (options.grid_rows <= 0) return;
  if (rows.rows % options.grid_cols != 0 || rows.rows / options.grid_cols != options.grid_rows) {
    fail(ErrorCode::malformed_input, "'{}': a grid of {} x {} was asked for, but there are {} distributions", impl.path, options.grid_rows,
         options.grid_cols, rows.rows);
  }
  rows.grid_rows = options.grid_rows;
  rows.grid_cols = options.grid_cols;
}

/// decode(), with memory failures told as Errors: sizes come from files.
void decode_checked(RowFile::Impl& impl, Bytes bytes, const Place& place, const ReadOptions& options) {
  try {
    decode(impl, bytes, place, options);
    if (options.distributions.wanted) shape_distributions(impl, options.distributions);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::out_of_memory, "'{}': not enough memory to decode it; use an uncompressed .npy, which is mapped",
         place.file);
  } catch (const std::length_error&) {
    fail(ErrorCode::out_of_memory, "'{}': its content is larger than memory can address", place.file);
  }
}

}  // namespace

RowFile open_bytes(Bytes bytes, std::string_view format, const ReadOptions& options) {
  const std::size_t colon = format.find(':');
  ReadOptions with_format = options;
  if (!format.empty()) with_format.format = format.substr(0, colon);
  auto impl = std::make_unique<RowFile::Impl>();
  impl->path = "<memory>";
  decode_checked(*impl, bytes,
                 {impl->path, colon == std::string_view::npos ? "" : std::string(format.substr(colon + 1))},
                 with_format);
  return RowFile(std::move(impl));
}

}  // namespace io

RowFile RowFile::open(const std::string& path, const ReadOptions& options) {
  const io::Place place = io::split_place(path);
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->mapping = io::MappedFile(place.file);
  io::decode_checked(*impl, impl->mapping.bytes(), place, options);
  return RowFile(std::move(impl));
}

RowFile::RowFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RowFile::RowFile(RowFile&&) noexcept = default;
RowFile& RowFile::operator=(RowFile&&) noexcept = default;
RowFile::~RowFile() = default;

const RowSet& RowFile::rows() const noexcept { return impl_->decoded.rows; }
const std::string& RowFile::path() const noexcept { return impl_->path; }
const std::string& RowFile::format() const noexcept { return impl_->format; }
bool RowFile::mapped() const noexcept { return !impl_->mapping.bytes().empty(); }
const std::optional<Cell>& RowFile::cell() const noexcept { return impl_->decoded.cell; }
Index RowFile::file_rows() const noexcept { return impl_->decoded.file_rows; }
Index RowFile::batches() const noexcept { return impl_->decoded.batches; }

}  // namespace tessera
