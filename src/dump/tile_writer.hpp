// SPDX-License-Identifier: Apache-2.0
// Here: tiles on their way into a file: written by the workers, made durable in groups by one thread, then journalled.
// Not here: formats (target), the journal's bytes (journal).
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "dump/journal.hpp"
#include "dump/target.hpp"

namespace tessera::dump {

/// Writes, then syncs the target, then marks the journal, in this order for every tile. Workers write; one thread takes whatever
/// was written since its last round as a group. So computing, writing and syncing overlap, and at most `unsynced` bytes wait.
class TileWriter {
 public:
  TileWriter(Target& target, Journal& journal, std::uint64_t unsynced);
  /// Gives up what is not yet marked; it will be done again.
  ~TileWriter();

  void put(const ValueTile& tile, const Layout& layout);
  /// Waits for everything; rethrows what went wrong.
  void finish();

  Index marked() const noexcept { return marked_; }
  double seconds_waiting() const noexcept { return static_cast<double>(waited_ns_.load()) * 1e-9; }

 private:
  void run();

  Target& target_;
  Journal& journal_;
  std::uint64_t most_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable room_;
  std::vector<TileMark> waiting_;  // written, not synced
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t bytes_ = 0;        // of waiting_ and of the group being synced
  bool closing_ = false;
  bool abandoned_ = false;
  std::exception_ptr error_;
  std::atomic<Index> marked_{0};
  std::atomic<std::int64_t> waited_ns_{0};
  std::thread thread_;
};

/// CRC-32C of the values of a tile that the array holds, in the file's order.
std::uint32_t checksum(const Layout& layout, const ValueTile& tile);

}  // namespace tessera::dump
