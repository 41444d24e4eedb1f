// SPDX-License-Identifier: Apache-2.0
#include "io/zip_archive.hpp"

#include <algorithm>
#include <limits>

#include "support/config.hpp"
#include "support/fail.hpp"

#if TESSERA_HAVE_ZIP

#include <zip.h>

namespace tessera::io {

namespace {

using support::fail;

struct CloseArchive {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
};
struct CloseFile {
  void operator()(zip_file_t* file) const noexcept { zip_fclose(file); }
};
using File = std::unique_ptr<zip_file_t, CloseFile>;

/// Owns what libzip keeps in an error.
struct ZipError {
  ZipError() { zip_error_init(&error); }
  ~ZipError() { zip_error_fini(&error); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  zip_error_t error;
};

[[noreturn]] void fail_broken(const std::string& name, const char* why) {
  fail(ErrorCode::malformed_input, "'{}': broken or truncated ZIP archive: {}; fetch or write it again", name, why);
}

// A deflated byte holds at most 1,032 bytes (zlib's technical notes), so a larger size is a lie, and would be
// allocated.
constexpr std::uint64_t kDeflateMax = 1032;

}  // namespace

struct ZipArchive::Impl {
  std::unique_ptr<zip_t, CloseArchive> archive;
  std::string name;
};

bool can_unzip() noexcept { return true; }

ZipArchive::ZipArchive(Bytes bytes, const std::string& name) : impl_(std::make_unique<Impl>()) {
  impl_->name = name;
  ZipError error;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error.error);
  if (source == nullptr) fail_broken(name, zip_error_strerror(&error.error));
  impl_->archive.reset(zip_open_from_source(source, ZIP_RDONLY, &error.error));
  if (impl_->archive) return;
  zip_source_free(source);  // the archive would have taken it over
  fail_broken(name, zip_error_strerror(&error.error));
}

ZipArchive::~ZipArchive() = default;

std::vector<std::string> ZipArchive::members() const {
  std::vector<std::string> names;
  const zip_int64_t count = zip_get_num_entries(impl_->archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(impl_->archive.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_GUESS);
    names.emplace_back(name != nullptr ? name : "");
  }
  return names;
}

std::vector<std::byte> ZipArchive::read(std::size_t member, std::uint64_t limit) const {
  zip_stat_t info;
  zip_stat_init(&info);
  if (zip_stat_index(impl_->archive.get(), member, 0, &info) != 0) {
    fail_broken(impl_->name, zip_strerror(impl_->archive.get()));
  }
  if (info.size / kDeflateMax > info.comp_size) fail_broken(impl_->name, "a member's size is impossible");
  const File file(zip_fopen_index(impl_->archive.get(), member, 0));
  if (!file) fail_broken(impl_->name, zip_strerror(impl_->archive.get()));
  std::vector<std::byte> out(std::min<std::uint64_t>(info.size, limit));
  std::size_t at = 0;
  while (at < out.size()) {
    const zip_int64_t got = zip_fread(file.get(), out.data() + at, out.size() - at);
    if (got <= 0) fail_broken(impl_->name, zip_file_strerror(file.get()));
    at += static_cast<std::size_t>(got);
  }
  // Only reading on to the end makes libzip compare the CRC.
  std::byte beyond;
  if (at == info.size && zip_fread(file.get(), &beyond, 1) < 0) fail_broken(impl_->name, zip_file_strerror(file.get()));
  return out;
}

}  // namespace tessera::io

#else

namespace tessera::io {

struct ZipArchive::Impl {};

bool can_unzip() noexcept { return false; }

ZipArchive::ZipArchive(Bytes, const std::string& name) {
  support::fail(ErrorCode::unsupported,
                "'{}': this build has no libzip, so .npz files are not read; save the array as .npy", name);
}

ZipArchive::~ZipArchive() = default;
std::vector<std::string> ZipArchive::members() const { return {}; }
std::vector<std::byte> ZipArchive::read(std::size_t, std::uint64_t) const { return {}; }

}  // namespace tessera::io

#endif
