// SPDX-License-Identifier: Apache-2.0
#include "dump/tile_writer.hpp"

#include <chrono>
#include <utility>

#include "dump/crc32c.hpp"

namespace tessera::dump {

std::uint32_t checksum(const Layout& layout, const ValueTile& tile) {
  std::uint32_t crc = 0;
  const auto item = static_cast<Index>(layout.itemsize());
  layout.for_each_run(tile, [&](Index, Index first, Index count) {
    crc = crc32c(crc, {tile.values + first * item, static_cast<std::size_t>(count * item)});
  });
  return crc;
}

TileWriter::TileWriter(Target& target, Journal& journal, std::uint64_t unsynced)
    : target_(target), journal_(journal), most_(unsynced), thread_([this] { run(); }) {}

TileWriter::~TileWriter() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = closing_ = true;
  }
  work_.notify_all();
  room_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TileWriter::put(const ValueTile& tile, const Layout& layout) {
  const auto size = static_cast<std::uint64_t>(tile.rows * tile.cols) * layout.itemsize();
  {
    std::unique_lock lock(mutex_);
    const auto start = std::chrono::steady_clock::now();
    // One tile may always pass, however large.
    room_.wait(lock, [&] { return error_ || bytes_ == 0 || bytes_ + size <= most_; });
    waited_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    if (error_) std::rethrow_exception(error_);
    bytes_ += size;
  }
  target_.write(tile);
  const TileMark mark{.tile = tile.tile, .crc = checksum(layout, tile)};
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(mark);
    waiting_bytes_ += size;
  }
  work_.notify_one();
}

void TileWriter::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
    if (abandoned_ || waiting_.empty()) return;
    std::vector<TileMark> group;
    group.swap(waiting_);
    const std::uint64_t done = std::exchange(waiting_bytes_, 0);
    lock.unlock();
    std::exception_ptr error;
    try {
      target_.sync(group);
      journal_.mark(group);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      error_ = error;
      room_.notify_all();
      return;
    }
    marked_ += std::ssize(group);
    bytes_ -= done;
    room_.notify_all();
  }
}

void TileWriter::finish() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  work_.notify_all();
  thread_.join();
  if (error_) std::rethrow_exception(error_);
}

}  // namespace tessera::dump
