// SPDX-License-Identifier: Apache-2.0
#include "io/looks_like.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tessera::io {

namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view start;
  std::string_view what;
  std::string_view format = {};  // the one that starts so: no news about a file of this format
};

// First bytes of files that are often saved or renamed under another suffix.
constexpr Magic kMagics[] = {
    {"\x93NUMPY"sv, "a numpy .npy array", "npy"},
    {"PK\x03\x04"sv, "a ZIP archive (.npz)", "npz"},
    {"\x1f\x8b"sv, "gzip-compressed data (.gz)"},
    {"\x89HDF\r\n"sv, "an HDF5 file (.h5)", "h5"},
    {"version https://git-lfs"sv, "a Git LFS pointer, not the file (run: git lfs pull)"},
    {"<!DOCTYPE"sv, "a web page, perhaps a failed download"},
    {"<html"sv, "a web page, perhaps a failed download"},
};

/// True when every row looked at starts with the same d and the stride divides the size: fvecs and its kin.
bool fits_vecs(Bytes bytes, std::uint64_t item) {
  if (bytes.size() < 4) return false;
  const std::uint64_t d = load_le<std::uint32_t>(bytes.data());
  const std::uint64_t stride = 4 + d * item;
  if (d == 0 || bytes.size() % stride != 0 || bytes.size() / stride < 2) return false;  // one row proves nothing
  const std::uint64_t rows = bytes.size() / stride;
  const std::uint64_t looked_at[] = {1, rows / 2, rows - 1};
  return std::ranges::all_of(
      looked_at, [&](std::uint64_t row) { return load_le<std::uint32_t>(bytes.data() + row * stride) == d; });
}

/// True when the size is that of a u32 n, u32 d header and n·d elements of `item` bytes.
bool fits_bin(Bytes bytes, std::uint64_t item) {
  if (bytes.size() < 8) return false;
  const std::uint64_t n = load_le<std::uint32_t>(bytes.data());
  const std::uint64_t d = load_le<std::uint32_t>(bytes.data() + 4);
  std::uint64_t size = 0;
  return n > 0 && d > 0 && !__builtin_mul_overflow(n * d, item, &size) && size == bytes.size() - 8;
}

Guess guess_bin(Bytes bytes, std::string_view format) {
  if (fits_bin(bytes, 8) && format != "u64bin") {
    return {"; it looks like ground truth (ids, then distances), which is no set of rows", false};
  }
  if (fits_bin(bytes, 4) && format != "fbin" && format != "ibin") return {"; its size fits .fbin or .ibin", false};
  if (fits_bin(bytes, 2) && format != "f16bin") return {"; its size fits .f16bin", false};
  if (fits_bin(bytes, 1) && format != "u8bin" && format != "i8bin") return {"; its size fits .u8bin or .i8bin", false};
  return {};
}

}  // namespace

Guess looks_like(Bytes bytes, std::string_view format) {
  for (const Magic& magic : kMagics) {
    if (magic.format == format && !format.empty()) continue;
    if (as_text(bytes).starts_with(magic.start)) return {fmt::format("; it looks like {}", magic.what), true};
  }
  if (fits_vecs(bytes, 4) && format != "fvecs" && format != "ivecs") {
    return {"; it looks like fvecs (or ivecs): rename it, or use --in-format fvecs", true};
  }
  if (fits_vecs(bytes, 1) && format != "bvecs") {
    return {"; it looks like bvecs: rename it, or use --in-format bvecs", true};
  }
  return guess_bin(bytes, format);
}

}  // namespace tessera::io
