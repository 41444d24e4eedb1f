// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/format.hpp"
#include "io/gunzip.hpp"

namespace tessera::io {

namespace {

// The one list of readable formats.
constexpr std::span<const Format> (*kFamilies[])() noexcept = {
    npy_formats, npz_formats, h5_formats, safetensors_formats, xbin_formats, xvecs_formats, idx_formats, text_formats,
    xyz_formats, gro_formats, pdb_formats, poscar_formats, lammps_formats,
};

}  // namespace

std::vector<const Format*> all_formats() {
  std::vector<const Format*> all;
  for (const auto family : kFamilies) {
    for (const Format& format : family()) all.push_back(&format);
  }
  return all;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

const Format* find_by_name(std::string_view name) {
  const std::string suffix = fmt::format(".{}", name);
  for (const Format* format : all_formats()) {
    if (format->name == name || std::ranges::find(format->suffixes, suffix) != format->suffixes.end()) return format;
  }
  return nullptr;
}

const Format* find_by_suffix(std::string_view path) {
  const std::string name = lower(path);
  for (const Format* format : all_formats()) {
    for (const std::string_view suffix : format->suffixes) {
      if (!suffix.empty() && name.ends_with(suffix)) return format;
    }
  }
  return nullptr;
}

const Format* find_by_content(Bytes bytes) {
  for (const Format* format : all_formats()) {
    if (format->sniff != nullptr && format->sniff(bytes)) return format;
  }
  return nullptr;
}

std::string list_of_suffixes() { return fmt::format("{}", fmt::join(readable_formats(), ", ")); }

}  // namespace tessera::io

namespace tessera {

std::vector<std::string> readable_formats() {
  std::vector<std::string> names;
  for (const io::Format* format : io::all_formats()) {
    for (const std::string_view suffix : format->suffixes) {
      if (!suffix.empty()) names.emplace_back(suffix);
    }
  }
  if (io::can_gunzip()) names.emplace_back(".gz (of any of these)");
  return names;
}

}  // namespace tessera
