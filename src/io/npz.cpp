// SPDX-License-Identifier: Apache-2.0
// numpy's .npz: a ZIP archive of .npy members. A member is read into memory: it may be compressed, and its CRC is
// checked.
#include <limits>

#include "io/container.hpp"
#include "io/format.hpp"
#include "io/npy.hpp"
#include "io/npy_header.hpp"
#include "io/zip_archive.hpp"

namespace tessera::io {

namespace {

constexpr std::string_view kSuffix = ".npy";

/// The archive's arrays: places in the archive, and what their headers say.
struct Members {
  std::vector<std::size_t> places;
  std::vector<ArrayEntry> entries;  // names without .npy
};

Members read_members(const ZipArchive& archive, const Input& input) {
  Members members;
  const std::vector<std::string> names = archive.members();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].ends_with(kSuffix)) continue;
    const std::string name = names[i].substr(0, names[i].size() - kSuffix.size());
    const std::vector<std::byte> start = archive.read(i, kNpyHeaderMax + 12);
    const NpyHeader header = parse_npy_header(start, input.name + ":" + printable(name));
    members.places.push_back(i);
    members.entries.push_back({.name = name, .type = header.descr, .shape = header.shape});
  }
  return members;
}

Decoded read_npz(const Input& input) {
  const ZipArchive archive(input.bytes, input.name);
  const Members members = read_members(archive, input);
  const std::string wanted = input.member.ends_with(kSuffix)
                                 ? input.member.substr(0, input.member.size() - kSuffix.size())
                                 : input.member;
  const std::size_t chosen = choose_array(members.entries, {.file = input.name, .wanted = wanted, .preferred = {}});
  auto array = std::make_shared<const std::vector<std::byte>>(
      archive.read(members.places[chosen], std::numeric_limits<std::uint64_t>::max()));
  Input inner = input;
  inner.bytes = *array;
  inner.name = input.name + ":" + printable(members.entries[chosen].name);
  inner.format = "npy";
  Decoded decoded = read_npy(inner);
  decoded.owner = std::move(array);
  return decoded;
}

bool sniff_zip(Bytes bytes) noexcept {
  const std::string_view text = as_text(bytes);
  return text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06");  // a first member, or an empty archive
}

constexpr Format kFormats[] = {
    {.name = "npz", .suffixes = {".npz"}, .read = read_npz, .sniff = sniff_zip, .container = true},
};

}  // namespace

// Listed even without libzip: the message then says what is missing.
std::span<const Format> npz_formats() noexcept { return kFormats; }

}  // namespace tessera::io
