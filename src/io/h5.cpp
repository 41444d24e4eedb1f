// SPDX-License-Identifier: Apache-2.0
// HDF5, as ann-benchmarks publishes it (train, test, neighbors, distances). A contiguous data set is viewed where it
// lies in the file; a chunked or compressed one is read by libhdf5, only the rows asked for. Attributes are not needed.
#include <algorithm>
#include <limits>

#include "io/format.hpp"
#include "io/layout.hpp"
#include "support/config.hpp"
#include "support/fail.hpp"

#if TESSERA_HAVE_HDF5

#include "io/h5_dataset.hpp"
#include "io/ragged.hpp"

namespace tessera::io {

namespace {

using support::fail;

// A deflated byte holds at most 1,032 bytes (zlib's technical notes), so a larger size is a lie, and would be
// allocated.
constexpr std::uint64_t kDeflateMax = 1032;

/// ann-benchmarks' names.
const char* default_name(RowRole role) noexcept { return role == RowRole::queries ? "test" : "train"; }

H5Dataset choose_dataset(const H5Id& file, const Input& input, std::string* path) {
  *path = input.member;
  auto dataset = input.member.empty() ? std::nullopt : open_h5_dataset(file, input.member);
  if (dataset) return std::move(*dataset);
  const std::vector<ArrayEntry> entries = list_h5_datasets(file);
  const ArrayQuestion question{.file = input.name, .wanted = input.member, .preferred = default_name(input.role)};
  *path = entries[choose_array(entries, question)].name;
  dataset = open_h5_dataset(file, *path);
  if (!dataset) {
    fail(ErrorCode::malformed_input, "'{}': cannot open '{}': {}", input.name, printable(*path), h5_reason());
  }
  return std::move(*dataset);
}

/// Where the elements lie in the file as they are; nothing when only libhdf5 can tell.
std::optional<std::uint64_t> offset_of(const H5Dataset& dataset, hid_t creation) {
  if (H5Pget_layout(creation) != H5D_CONTIGUOUS || H5Pget_external_count(creation) != 0) return std::nullopt;
  const haddr_t offset = H5Dget_offset(dataset.id.get());
  if (offset == HADDR_UNDEF) return std::nullopt;  // nothing was ever written: all fill values
  return offset;
}

/// Refuses what would lead into other files, and filters that are not there.
void check_readable(const Input& input, hid_t creation) {
  if (H5Pget_layout(creation) == H5D_VIRTUAL || H5Pget_external_count(creation) > 0) {
    fail(ErrorCode::unsupported, "'{}': its data lie in other files; copy it into one, e.g. with h5repack", input.name);
  }
  const int filters = H5Pget_nfilters(creation);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    char name[64] = "";
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr, sizeof name, name, nullptr);
    if (filter < 0 || H5Zfilter_avail(filter) > 0) continue;
    fail(ErrorCode::unsupported,
         "'{}': compressed with filter {} ({}), which libhdf5 lacks here; rewrite it, e.g. with h5repack -f GZIP=4",
         input.name, filter, printable(name));
  }
}

/// The bytes of `rows` rows, refused when no file of this size can hold them.
std::size_t checked_size(const Input& input, std::uint64_t rows, std::uint64_t cols, std::uint64_t item) {
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(rows, cols, &size) || __builtin_mul_overflow(size, item, &size) ||
      size / kDeflateMax > input.bytes.size()) {
    fail(ErrorCode::malformed_input, "'{}': {} rows of {} columns cannot come from a file of {} bytes; write it again",
         input.name, rows, cols, input.bytes.size());
  }
  return size;
}

/// Reads rows [range.first, range.last) in the stored byte order.
std::vector<std::byte> read_rows(const Input& input, const H5Dataset& dataset, RowRange range, std::size_t size) {
  const H5Id space(H5Dget_space(dataset.id.get()));
  const std::size_t ndim = dataset.shape.size();
  const hsize_t start[2] = {static_cast<hsize_t>(range.first), 0};
  const hsize_t count[2] = {static_cast<hsize_t>(range.last - range.first), ndim > 1 ? dataset.shape[1] : 1};
  const H5Id memory(H5Screate_simple(static_cast<int>(ndim), count, nullptr));
  std::vector<std::byte> bytes(size);
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr) < 0 ||
      H5Dread(dataset.id.get(), dataset.type.get(), memory.get(), space.get(), H5P_DEFAULT, bytes.data()) < 0) {
    fail(ErrorCode::malformed_input, "'{}': broken HDF5 data: {}; fetch or write it again", input.name, h5_reason());
  }
  return bytes;
}

/// Rows that libhdf5 has to unpack.
Decoded unpack_rows(const Input& input, const H5Dataset& dataset, hid_t creation, const Layout& layout) {
  check_readable(input, creation);
  if (layout.rows > static_cast<std::uint64_t>(std::numeric_limits<Index>::max())) {
    fail(ErrorCode::malformed_input, "'{}': {} rows; wanted fewer than 2^63", input.name, layout.rows);
  }
  const RowRange range = range_of(input, static_cast<Index>(layout.rows));
  const auto rows = static_cast<std::uint64_t>(range.last - range.first);
  const std::size_t size = checked_size(input, rows, layout.cols, size_of(layout.dtype));
  auto bytes = std::make_shared<const std::vector<std::byte>>(read_rows(input, dataset, range, size));
  RowSet out = dense(bytes->data(), layout.dtype, static_cast<Index>(rows), static_cast<Index>(layout.cols));
  out.byte_swapped = is_swapped(layout.order, layout.dtype);
  out.first_id = range.first;
  return {out, static_cast<Index>(layout.rows), std::move(bytes)};
}

Decoded read_h5(const Input& input) {
  const H5Session session;
  const H5Id file = open_h5_image(input.bytes, input.name);
  std::string path;
  const H5Dataset dataset = choose_dataset(file, input, &path);
  Input inner = input;
  inner.name = input.name + ":" + printable(path);
  if (!dataset.element) {
    fail(ErrorCode::unsupported, "'{}': its elements are no plain numbers; save it as float32, float64 or integers",
         inner.name);
  }
  if (dataset.shape.empty() || dataset.shape.size() > 2) {
    fail(ErrorCode::unsupported, "'{}': shape {}; wanted rows [n, d] or [n]; reshape it, e.g. x.reshape(len(x), -1)",
         inner.name, shape_text(dataset.shape));
  }
  Layout layout{.dtype = dataset.element->dtype,
                .order = dataset.element->order,
                .rows = dataset.shape[0],
                .cols = dataset.shape.size() == 1 ? 1 : dataset.shape[1]};
  const H5Id creation(H5Dget_create_plist(dataset.id.get()));
  const auto offset = offset_of(dataset, creation.get());
  if (!offset && layout.rows > 0 && layout.cols > 0) return unpack_rows(inner, dataset, creation.get(), layout);
  layout.offset = offset.value_or(0);
  // The file as if it ended with this data set, so that view_rows() holds the promise against what is there.
  std::uint64_t end = 0;
  if (__builtin_mul_overflow(layout.rows, layout.cols, &end) ||
      __builtin_mul_overflow(end, size_of(layout.dtype), &end) || __builtin_add_overflow(end, layout.offset, &end)) {
    end = std::numeric_limits<std::uint64_t>::max();
  }
  inner.bytes = input.bytes.first(std::min<std::uint64_t>(input.bytes.size(), end));
  return view_rows(inner, layout);
}

Decoded read_h5_distributions(const Input& input) {
  std::vector<ArrayEntry> entries;
  if (input.member.empty()) {
    const H5Session session;
    entries = list_h5_datasets(open_h5_image(input.bytes, input.name));
  }
  if (!holds_ragged(entries)) return read_h5(input);
  return read_ragged(input, entries, [&](const std::string& name) {
    Input part = input;
    part.member = name;
    part.first_row = 0;
    part.last_row = -1;
    return read_h5(part);
  });
}

}  // namespace

}  // namespace tessera::io

#else

namespace tessera::io {

namespace {

Decoded read_h5(const Input& input) {
  support::fail(ErrorCode::unsupported,
                "'{}': this build has no libhdf5, so .h5 files are not read; save the array as .npy", input.name);
}
Decoded read_h5_distributions(const Input& input) { return read_h5(input); }

}  // namespace

}  // namespace tessera::io

#endif

namespace tessera::io {

namespace {

/// The signature lies at 0 or, behind a user block, at 512, 1024, 2048, ...
bool sniff_h5(Bytes bytes) noexcept {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  if (as_text(bytes).starts_with(kSignature)) return true;
  for (std::size_t at = 512; at < bytes.size() && at <= std::size_t{1} << 30; at *= 2) {
    if (as_text(bytes.subspan(at)).starts_with(kSignature)) return true;
  }
  return false;
}

constexpr Format kFormats[] = {
    {.name = "h5", .suffixes = {".h5", ".hdf5"}, .read = read_h5, .sniff = sniff_h5, .container = true, .read_distributions = read_h5_distributions},
};

}  // namespace

// Listed even without libhdf5: the message then says what is missing.
std::span<const Format> h5_formats() noexcept { return kFormats; }

}  // namespace tessera::io
