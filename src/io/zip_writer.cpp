// SPDX-License-Identifier: Apache-2.0
#include "io/zip_writer.hpp"

#include "io/crc32.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

// Field values of APPNOTE.TXT, sections 4.3 and 4.4.
constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralEntry = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Locator = 0x07064b50;
constexpr std::uint16_t kZip64Field = 0x0001;
constexpr std::uint16_t kPlainVersion = 20;
constexpr std::uint16_t kZip64Version = 45;
constexpr std::uint16_t kMadeOnUnix = 3 << 8;
constexpr std::uint32_t kMode = 0100644U << 16;   // a regular file, rw-r--r--
constexpr std::uint16_t kFixedDate = 1 << 5 | 1;  // 1980-01-01, the first date DOS can say: same bytes every time
constexpr std::uint64_t kCrcAt = 14;              // of the CRC within a local header
constexpr std::uint64_t kEnd64Rest = 44;          // bytes of the ZIP64 end record after its size field

/// Fields that local headers and central entries share, from "version needed" to the lengths.
void append_common(std::string& out, bool large, std::uint32_t crc, std::uint32_t size, const std::string& name,
                   const std::string& extra) {
  append_le<std::uint16_t>(out, large ? kZip64Version : kPlainVersion);
  append_le<std::uint16_t>(out, 0);  // flags
  append_le<std::uint16_t>(out, 0);  // method: stored
  append_le<std::uint16_t>(out, 0);  // time
  append_le<std::uint16_t>(out, kFixedDate);
  append_le<std::uint32_t>(out, crc);
  append_le<std::uint32_t>(out, size);  // compressed
  append_le<std::uint32_t>(out, size);  // uncompressed
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(name.size()));
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(extra.size()));
}

std::string zip64_field(const std::string& values) {
  std::string out;
  if (values.empty()) return out;
  append_le<std::uint16_t>(out, kZip64Field);
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(values.size()));
  return out + values;
}

}  // namespace

ZipWriter::ZipWriter(TempFile& file, std::uint64_t zip64_from) : file_(file), zip64_from_(zip64_from) {}

std::uint32_t ZipWriter::clamp(std::uint64_t value) const noexcept {
  return is_large(value) ? std::numeric_limits<std::uint32_t>::max() : static_cast<std::uint32_t>(value);
}

std::string ZipWriter::local_header(const Member& member) const {
  std::string sizes;
  if (is_large(member.size)) {  // a local header must give both
    append_le<std::uint64_t>(sizes, member.size);
    append_le<std::uint64_t>(sizes, member.size);
  }
  const std::string extra = zip64_field(sizes);
  std::string out;
  append_le<std::uint32_t>(out, kLocalHeader);
  append_common(out, is_large(member.size), member.crc, clamp(member.size), member.name, extra);
  return out + member.name + extra;
}

std::string ZipWriter::central_entry(const Member& member) const {
  const bool large = is_large(member.size) || is_large(member.offset);
  std::string values;  // only of the fields that are all ones, in this order
  if (is_large(member.size)) {
    append_le<std::uint64_t>(values, member.size);
    append_le<std::uint64_t>(values, member.size);
  }
  if (is_large(member.offset)) append_le<std::uint64_t>(values, member.offset);
  const std::string extra = zip64_field(values);
  std::string out;
  append_le<std::uint32_t>(out, kCentralEntry);
  append_le<std::uint16_t>(out, kMadeOnUnix | kZip64Version);
  append_common(out, large, member.crc, clamp(member.size), member.name, extra);
  append_le<std::uint16_t>(out, 0);  // comment length
  append_le<std::uint16_t>(out, 0);  // disk
  append_le<std::uint16_t>(out, 0);  // internal attributes
  append_le<std::uint32_t>(out, kMode);
  append_le<std::uint32_t>(out, clamp(member.offset));
  return out + member.name + extra;
}

std::string ZipWriter::end_records(std::uint64_t start, std::uint64_t size) const {
  const auto count = static_cast<std::uint16_t>(members_.size());
  std::string out;
  if (is_large(start) || is_large(size)) {
    append_le<std::uint32_t>(out, kEnd64);
    append_le<std::uint64_t>(out, kEnd64Rest);
    append_le<std::uint16_t>(out, kMadeOnUnix | kZip64Version);
    append_le<std::uint16_t>(out, kZip64Version);
    append_le<std::uint32_t>(out, 0);  // this disk
    append_le<std::uint32_t>(out, 0);  // the directory's disk
    append_le<std::uint64_t>(out, count);
    append_le<std::uint64_t>(out, count);
    append_le<std::uint64_t>(out, size);
    append_le<std::uint64_t>(out, start);
    append_le<std::uint32_t>(out, kEnd64Locator);
    append_le<std::uint32_t>(out, 0);  // disk
    append_le<std::uint64_t>(out, start + size);
    append_le<std::uint32_t>(out, 1);  // disks in all
  }
  append_le<std::uint32_t>(out, kEnd);
  append_le<std::uint16_t>(out, 0);  // this disk
  append_le<std::uint16_t>(out, 0);  // the directory's disk
  append_le<std::uint16_t>(out, count);
  append_le<std::uint16_t>(out, count);
  append_le<std::uint32_t>(out, clamp(size));
  append_le<std::uint32_t>(out, clamp(start));
  append_le<std::uint16_t>(out, 0);  // comment length
  return out;
}

void ZipWriter::begin(std::string name, std::uint64_t size) {
  members_.push_back({.name = std::move(name), .size = size, .offset = file_.size()});
  left_ = size;
  file_.append(as_bytes(local_header(members_.back())));
}

void ZipWriter::append(Bytes bytes) {
  if (bytes.size() > left_)
    support::fail(ErrorCode::internal, "zip member '{}' got too many bytes", members_.back().name);
  left_ -= bytes.size();
  members_.back().crc = crc32_of(members_.back().crc, bytes);
  file_.append(bytes);
}

void ZipWriter::end() {
  const Member& member = members_.back();
  if (left_ != 0) support::fail(ErrorCode::internal, "zip member '{}' lacks {} bytes", member.name, left_);
  std::string crc;
  append_le<std::uint32_t>(crc, member.crc);
  file_.write_at(member.offset + kCrcAt, as_bytes(crc));
}

void ZipWriter::finish() {
  const std::uint64_t start = file_.size();
  for (const Member& member : members_) file_.append(as_bytes(central_entry(member)));
  file_.append(as_bytes(end_records(start, file_.size() - start)));
}

}  // namespace tessera::io
