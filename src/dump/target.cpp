// SPDX-License-Identifier: Apache-2.0
#include "dump/target.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dump/codec.hpp"
#include "support/config.hpp"
#include "support/fail.hpp"

namespace tessera::dump {
namespace {

using support::fail;

std::string listed() {
  std::vector<std::string_view> all;
  for (const TargetFormat& format : target_formats()) all.insert(all.end(), format.suffixes.begin(), format.suffixes.end());
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

const std::vector<TargetFormat>& target_formats() {
  static const std::vector<TargetFormat> kFormats = {
      {.name = "npy", .suffixes = {".npy"}, .compressors = {}, .condensed = true, .folder = false, .missing = nullptr, .make = make_npy_target},
      {.name = "raw", .suffixes = {".f32", ".f16", ".f64"}, .compressors = {}, .condensed = true, .folder = false, .beside = ".json", .missing = nullptr, .make = make_raw_target},
      {.name = "h5",
       .suffixes = {".h5", ".hdf5"},
       .compressors = TESSERA_HAVE_ZLIB ? std::vector<std::string_view>{"gzip"} : std::vector<std::string_view>{},
       .condensed = true,
       .folder = false,
       .missing = TESSERA_HAVE_HDF5 ? nullptr : "libhdf5",
       .make = make_h5_target},
      {.name = "zarr", .suffixes = {".zarr"}, .compressors = codecs(), .condensed = false, .folder = true, .missing = nullptr, .make = make_zarr_target},
  };
  return kFormats;
}

const TargetFormat& target_format(const std::string& path, const std::string& name) {
  const std::string suffix = std::filesystem::path(path).extension().string();
  for (const TargetFormat& format : target_formats()) {
    if (name.empty() ? std::ranges::find(format.suffixes, suffix) == format.suffixes.end() : format.name != name) continue;
    if (format.missing != nullptr) fail(ErrorCode::unsupported, "'{}': this build has no {}, which writes it; choose .npy", path, format.missing);
    return format;
  }
  fail(ErrorCode::invalid_argument, "'{}': no format of a matrix; wanted one of {}", path, listed());
}

void check_target(const TargetFormat& format, const std::string& path, const std::string& compress, bool condensed) {
  if (condensed && !format.condensed) fail(ErrorCode::invalid_argument, "'{}': {} holds no condensed matrix; choose .npy", path, format.name);
  if (compress.empty() || std::ranges::find(format.compressors, compress) != format.compressors.end()) return;
  if (format.compressors.empty()) fail(ErrorCode::invalid_argument, "'{}': {} is not compressed; choose .zarr or .h5", path, format.name);
  fail(ErrorCode::invalid_argument, "compression {} for '{}': wanted one of {}", compress, path, fmt::join(format.compressors, ", "));
}

}  // namespace tessera::dump
