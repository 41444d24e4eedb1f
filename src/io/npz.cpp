// SPDX-License-Identifier: Apache-2.0
// numpy's .npz: a ZIP archive of .npy members. A member is read into memory: it may be compressed, and its CRC is
// checked.
#include <limits>
#include <optional>

#include <fmt/ranges.h>

#include "io/format.hpp"
#include "io/npy.hpp"
#include "io/npy_header.hpp"
#include "io/zip_archive.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

constexpr std::string_view kSuffix = ".npy";

struct Member {
  std::size_t index = 0;
  std::string name;  // without .npy
  NpyHeader header;
};

/// The archive's arrays, with their headers.
std::vector<Member> read_members(const ZipArchive& archive, const Input& input) {
  std::vector<Member> members;
  const std::vector<std::string> names = archive.members();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].ends_with(kSuffix)) continue;
    const std::string name = names[i].substr(0, names[i].size() - kSuffix.size());
    const std::vector<std::byte> start = archive.read(i, kNpyHeaderMax + 12);
    members.push_back({i, name, parse_npy_header(start, input.name + ":" + name)});
  }
  return members;
}

/// "ids <i8 (10, 5), distances <f4 (10, 5)"
std::string list_members(const std::vector<Member>& members) {
  std::vector<std::string> lines;
  for (const Member& m : members) {
    lines.push_back(fmt::format("{} {} {}", m.name, m.header.descr, shape_text(m.header.shape)));
  }
  return lines.empty() ? "no arrays" : fmt::format("{}", fmt::join(lines, ", "));
}

/// The member asked for; else the only array, or the only 2-D one.
const Member& choose(const std::vector<Member>& members, const Input& input) {
  const Member* chosen = nullptr;
  int fitting = 0;
  for (const Member& member : members) {
    const bool fits = input.member.empty() ? member.header.shape.size() == 2 || members.size() == 1
                                           : member.name == input.member || member.name + ".npy" == input.member;
    if (!fits) continue;
    chosen = &member;
    ++fitting;
  }
  if (fitting == 1) return *chosen;
  if (!input.member.empty()) {
    fail(ErrorCode::invalid_argument, "'{}' has no array named '{}' of its own; it holds: {}", input.name, input.member,
         list_members(members));
  }
  fail(ErrorCode::invalid_argument, "'{}' holds {} 2-D arrays; name one as FILE:NAME; it holds: {}", input.name,
       fitting, list_members(members));
}

Decoded read_npz(const Input& input) {
  const ZipArchive archive(input.bytes, input.name);
  const std::vector<Member> members = read_members(archive, input);
  const Member& member = choose(members, input);
  auto array = std::make_shared<const std::vector<std::byte>>(
      archive.read(member.index, std::numeric_limits<std::uint64_t>::max()));
  Input inner = input;
  inner.bytes = *array;
  inner.name = input.name + ":" + member.name;
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
