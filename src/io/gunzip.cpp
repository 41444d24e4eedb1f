// SPDX-License-Identifier: Apache-2.0
#include "io/gunzip.hpp"

#include <algorithm>

#include "support/config.hpp"
#include "support/fail.hpp"

namespace tessera::io {

bool has_gzip_magic(Bytes bytes) noexcept { return as_text(bytes).starts_with("\x1f\x8b\x08"); }

}  // namespace tessera::io

#if TESSERA_HAVE_ZLIB

#include <zlib.h>

namespace tessera::io {

namespace {

// zlib counts in 32 bits: longer data are handed over in pieces.
constexpr std::size_t kPiece = std::size_t{1} << 30;
// First guess of the content's size; it doubles from there.
constexpr std::size_t kGuess = 4;

/// One zlib decompressor over all of the input, appending to out_.
class Inflater {
 public:
  Inflater(Bytes bytes, const std::string& name) : left_(bytes), name_(name), out_(bytes.size() * kGuess + 1024) {
    constexpr int kGzipOnly = 15 + 16;  // zlib.h: the largest window, plus 16 for a gzip header
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) {
      support::fail(ErrorCode::out_of_memory, "'{}': zlib cannot start: not enough memory", name);
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Unpacked run() {
    int state = Z_OK;
    do {
      if (size_ == out_.size()) out_.resize(out_.size() * 2);
      state = step();
      if (state == Z_STREAM_END && has_gzip_magic(left_)) state = inflateReset(&stream_);
    } while (state == Z_OK);
    if (state != Z_STREAM_END && state != Z_BUF_ERROR) fail_broken();
    out_.resize(size_);
    return {std::make_shared<const std::vector<std::byte>>(std::move(out_)), state == Z_STREAM_END};
  }

 private:
  int step() {
    const std::size_t in = std::min(left_.size(), kPiece);
    const std::size_t room = std::min(out_.size() - size_, kPiece);
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(left_.data()));
    stream_.avail_in = static_cast<uInt>(in);
    stream_.next_out = reinterpret_cast<Bytef*>(out_.data() + size_);
    stream_.avail_out = static_cast<uInt>(room);
    const int state = inflate(&stream_, Z_NO_FLUSH);
    left_ = left_.subspan(in - stream_.avail_in);
    size_ += room - stream_.avail_out;
    return state;
  }

  [[noreturn]] void fail_broken() {
    support::fail(ErrorCode::malformed_input, "'{}': broken gzip data ({}) after {} bytes of content; fetch it again",
                  name_, stream_.msg != nullptr ? stream_.msg : "zlib gives no reason", size_);
  }

  Bytes left_;
  const std::string& name_;
  std::vector<std::byte> out_;
  std::size_t size_ = 0;
  z_stream stream_{};
};

}  // namespace

bool can_gunzip() noexcept { return true; }

Unpacked gunzip(Bytes bytes, const std::string& name) { return Inflater(bytes, name).run(); }

}  // namespace tessera::io

#else

namespace tessera::io {

bool can_gunzip() noexcept { return false; }

Unpacked gunzip(Bytes, const std::string& name) {
  support::fail(ErrorCode::unsupported, "'{}': this build has no zlib, so .gz files are not read; run gunzip first",
                name);
}

}  // namespace tessera::io

#endif
