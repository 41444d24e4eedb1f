// SPDX-License-Identifier: Apache-2.0
// numpy's .npz: a ZIP archive of .npy members. A member is read into memory: it may be compressed, and its CRC is
// checked.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "io/container.hpp"
#include "io/format.hpp"
#include "io/npy.hpp"
#include "io/npy_header.hpp"
#include "io/ragged.hpp"
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

/// One member in memory. `read` takes it from there.
Decoded read_member(const ZipArchive& archive, const Members& members, std::size_t chosen, Input input, Decoded (*read)(const Input&)) {
  auto array = std::make_shared<const std::vector<std::byte>>(
      archive.read(members.places[chosen], std::numeric_limits<std::uint64_t>::max()));
  input.bytes = *array;
  input.name = fmt::format("{}:{}", input.name, printable(members.entries[chosen].name));
  input.format = "npy";
  Decoded decoded = read(input);
  decoded.owner = std::move(array);
  return decoded;
}

Decoded read_chosen(const Input& input, const ZipArchive& archive, const Members& members, Decoded (*read)(const Input&)) {
  const std::string wanted = input.member.ends_with(kSuffix)
                                 ? input.member.substr(0, input.member.size() - kSuffix.size())
                                 : input.member;
  const std::size_t chosen = choose_array(members.entries, {.file = input.name, .wanted = wanted, .preferred = {}});
  return read_member(archive, members, chosen, input, read);
}

Decoded read_npz(const Input& input) {
  const ZipArchive archive(input.bytes, input.name);
  return read_chosen(input, archive, read_members(archive, input), read_npy);
}

/// values, offsets, ...; or arr_0, arr_1, ...; or one array of rows.
Decoded read_npz_distributions(const Input& input) {
  const ZipArchive archive(input.bytes, input.name);
  const Members members = read_members(archive, input);
  Input whole = input;  // ranges are taken of the distributions, not of their samples
  whole.first_row = 0;
  whole.last_row = -1;
  if (input.member.empty() && holds_ragged(members.entries)) {
    Decoded decoded = read_ragged(input, members.entries, [&](const std::string& name) {
      const auto at = std::ranges::find(members.entries, name, &ArrayEntry::name) - members.entries.begin();
      return read_member(archive, members, static_cast<std::size_t>(at), whole, read_npy);
    });
    decoded.views_input = false;
    return decoded;
  }
  const auto numbered = input.member.empty() ? find_numbered(members.entries) : std::nullopt;
  if (!numbered) return read_chosen(input, archive, members, read_npy_distributions);
  Decoded decoded =
      join_arrays(input, numbered->size(), [&](std::size_t i) { return read_member(archive, members, (*numbered)[i], whole, read_npy); });
  decoded.views_input = false;
  return decoded;
}

bool sniff_zip(Bytes bytes) noexcept {
  const std::string_view text = as_text(bytes);
  return text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06");  // a first member, or an empty archive
}

constexpr Format kFormats[] = {
    {.name = "npz", .suffixes = {".npz"}, .read = read_npz, .sniff = sniff_zip, .container = true, .read_distributions = read_npz_distributions},
};

}  // namespace

// Listed even without libzip: the message then says what is missing.
std::span<const Format> npz_formats() noexcept { return kFormats; }

}  // namespace tessera::io
