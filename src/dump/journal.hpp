// SPDX-License-Identifier: Apache-2.0
// Here: which tiles of a dump are on the disk, and their checksums, in a file of their own beside it. Not here: the values.
//
// PATH.tiles: 4,096 bytes of header ("TESSDUMP", u32 version, u32 length, that many bytes of JSON: the fingerprint, zeros), then
// 8 bytes a tile: u32 CRC-32C of its values in the file's order, u32 1 when they are on the disk. Slots never share a write with
// other processes' slots, so shards write one journal together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dump/file.hpp"
#include "tessera/rows.hpp"

namespace tessera::dump {

struct TileMark {
  Index tile = 0;
  std::uint32_t crc = 0;
};

class Journal {
 public:
  enum class Access : std::uint8_t {
    alone,   // nobody else may write
    shared,  // other shards may write too
    reading
  };

  /// Opens PATH.tiles, creating it unless reading. Holds the lock that lets nobody else begin, until begun().
  /// throws   Error{io}: somebody else writes this dump; no journal (reading).
  Journal(const std::string& dump_path, Access access);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  /// The fingerprint it holds; empty: a new journal.
  const std::string& fingerprint() const noexcept { return fingerprint_; }
  /// Starts anew: no tile is done.
  void create(const std::string& fingerprint, Index tiles);
  /// Reads the marks of an existing one.
  void load(Index tiles);
  /// Others may begin now.
  void begun();

  bool done(Index tile) const noexcept { return done_[static_cast<std::size_t>(tile)] != 0; }
  std::uint32_t crc(Index tile) const noexcept { return crc_[static_cast<std::size_t>(tile)]; }
  Index count_done() const noexcept;
  void forget(Index tile);
  /// Marks tiles, sorted or not, and waits until the marks are on the disk.
  void mark(std::vector<TileMark> marks);
  void sync() const { file_.sync(); }
  /// Takes its name away.
  void remove() noexcept;

 private:
  File file_;
  Access access_;
  std::string fingerprint_;
  std::vector<char> done_;
  std::vector<std::uint32_t> crc_;
};

std::string journal_path(const std::string& dump_path);

}  // namespace tessera::dump
