// SPDX-License-Identifier: Apache-2.0
#include "dump/codec.hpp"

#include <algorithm>
#include <limits>

#include "support/config.hpp"
#include "support/fail.hpp"

#if TESSERA_HAVE_ZLIB
#include <zlib.h>
#endif
#if TESSERA_HAVE_ZSTD
#include <zstd.h>
#endif

namespace tessera::dump {
namespace {

#if TESSERA_HAVE_ZLIB
// Distances are nearly random in their low bits: higher levels cost twice the time for a per cent.
constexpr int kDeflateLevel = 1;
constexpr int kGzipHeader = 16;  // added to the window bits: gzip instead of zlib

std::vector<std::byte> deflated(std::span<const std::byte> bytes, bool gzip) {
  z_stream stream{};
  if (bytes.size() > std::numeric_limits<uInt>::max() / 2 || deflateInit2(&stream, kDeflateLevel, Z_DEFLATED, MAX_WBITS + (gzip ? kGzipHeader : 0), 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    support::fail(ErrorCode::out_of_memory, "zlib cannot compress {} bytes at once: choose smaller tiles", bytes.size());
  }
  std::vector<std::byte> out(deflateBound(&stream, bytes.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) support::fail(ErrorCode::internal, "zlib ended with {}", result);
  return out;
}

bool inflated(std::span<const std::byte> bytes, bool gzip, std::span<std::byte> out) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + (gzip ? kGzipHeader : 0)) != Z_OK) return false;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.total_out == out.size();
  inflateEnd(&stream);
  return whole;
}
#endif

}  // namespace

std::vector<std::string_view> codecs() {
  std::vector<std::string_view> names;
  if (TESSERA_HAVE_ZLIB) names.emplace_back("gzip");
  if (TESSERA_HAVE_ZSTD) names.emplace_back("zstd");
  return names;
}

std::vector<std::byte> compress(std::string_view codec, std::span<const std::byte> bytes) {
  if (codec.empty()) return {bytes.begin(), bytes.end()};
#if TESSERA_HAVE_ZLIB
  if (codec == "gzip" || codec == "zlib") return deflated(bytes, codec == "gzip");
#endif
#if TESSERA_HAVE_ZSTD
  if (codec == "zstd") {
    std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
    const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1);
    if (ZSTD_isError(size) != 0) support::fail(ErrorCode::internal, "zstd: {}", ZSTD_getErrorName(size));
    out.resize(size);
    return out;
  }
#endif
  support::fail(ErrorCode::unsupported, "compression {}: this build has no library for it", codec);
}

bool decompress(std::string_view codec, std::span<const std::byte> bytes, std::span<std::byte> out) {
  if (codec.empty()) {
    if (bytes.size() != out.size()) return false;
    std::ranges::copy(bytes, out.begin());
    return true;
  }
#if TESSERA_HAVE_ZLIB
  if (codec == "gzip" || codec == "zlib") return inflated(bytes, codec == "gzip", out);
#endif
#if TESSERA_HAVE_ZSTD
  if (codec == "zstd") return ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size()) == out.size();
#endif
  support::fail(ErrorCode::unsupported, "compression {}: this build has no library for it", codec);
}

}  // namespace tessera::dump
