// SPDX-License-Identifier: Apache-2.0
#include "simt/shim.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "kernels/cuda/simt.hpp"
#include "simt/fiber.hpp"

namespace tessera::simt_shim {
namespace {

using cuda::simt::Here;
using cuda::simt::kWarp;

constexpr unsigned kMostThreads = 1024;
constexpr std::size_t kStackBytes = 128 * 1024;
constexpr std::size_t kStagger = 16 * 21;  // times up to 64: stacks start in different cache sets

std::mutex settings_mutex;
Settings settings;
Reached reached;

Site site_of(const Here& here) {
  const std::string file = here.file_name();
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(here.line());
}

/// Where a thread waits, and what it brought.
enum class State : std::uint8_t { ready, at_barrier, at_exchange, done };
enum class Exchange : std::uint8_t { shuffle, ballot, sync };

struct Copy {
  void* to;
  const void* from;
};

struct Thread {
  Context context;
  State state = State::ready;
  Here here{};
  Exchange exchange = Exchange::sync;
  unsigned mask = 0;
  unsigned from = 0;
  std::uint64_t value = 0;
  std::vector<Copy> copies;        // under way, oldest first
  std::vector<std::size_t> groups; // how many copies each committed group has
  std::size_t open = 0;            // copies of the group that is not committed
};

/// Stacks of one OS thread, kept from block to block.
class Stacks {
 public:
  Stacks() : memory_(mmap(nullptr, kMostThreads * kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Stacks() { munmap(memory_, kMostThreads * kStackBytes); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  void* at(unsigned i) const { return static_cast<std::byte*>(memory_) + i * kStackBytes; }

 private:
  void* memory_;
};

/// What fresh memory holds, word by word: by turns no number, and a number too large for any score.
void poison(void* memory, std::size_t bytes, bool nan) {
  const std::uint32_t word = nan ? 0xffffffffu : 0x7149f2cau;  // 1e30f
  auto* at = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; i < bytes; i += sizeof word) std::memcpy(at + i, &word, std::min(sizeof word, bytes - i));
}

/// A block at work; one at a time on an OS thread.
class Block {
 public:
  static thread_local Block* current;

  Block(unsigned threads, std::size_t shared_bytes)
      : threads_(threads), shared_(static_cast<unsigned char*>(::operator new(std::max<std::size_t>(shared_bytes, 1), std::align_val_t{16}))), shared_bytes_(shared_bytes) {
    static thread_local const Context here = [] {
      Context context;
      adopt_thread(context);
      return context;
    }();
    main_ = here;
  }
  ~Block() {
    for (Thread& t : threads_) forget(t.context);
    ::operator delete(shared_, std::align_val_t{16});
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void run(unsigned x, unsigned y, const Grid& grid, void (*kernel)(const void*), const void* params, const Settings& how) {
    x_ = x;
    y_ = y;
    grid_ = grid;
    kernel_ = kernel;
    params_ = params;
    faults_ = &how.faults;
    random_.seed(how.seed + 0x9e3779b97f4a7c15u * (std::uint64_t{x} + std::uint64_t{y} * grid.grid_x + 1));
    poison(shared_, shared_bytes_, random_() % 2 == 0);
    error_.clear();
    waiting_ = 0;
    any_ = false;
    std::ranges::fill(exchanging_, 0u);
    ready_.resize(threads_.size());
    std::iota(ready_.begin(), ready_.end(), 0u);
    for (unsigned i = 0; i < threads_.size(); ++i) start(i);
    current = this;
    done_ = 0;
    while (error_.empty() && !ready_.empty()) {
      const std::size_t pick = random_() % ready_.size();
      running_ = ready_[pick];
      ready_[pick] = ready_.back();
      ready_.pop_back();
      switch_context(main_, threads_[running_].context);
    }
    current = nullptr;
    if (error_.empty() && done_ < threads_.size()) error_ = stuck();
    if (!error_.empty()) throw SimtError("block (" + std::to_string(x) + ", " + std::to_string(y) + "): " + error_);
  }

  unsigned running() const { return running_; }
  unsigned threads() const { return static_cast<unsigned>(threads_.size()); }
  unsigned x() const { return x_; }
  unsigned y() const { return y_; }
  const Grid& grid() const { return grid_; }
  unsigned char* shared() const { return shared_; }
  const Faults& faults() const { return *faults_; }

  bool barrier(bool value, const Here& here) {
    note(barriers_, here);
    if (faults_->barrier && site_of(here) == *faults_->barrier) return value;
    Thread& self = threads_[running_];
    if (done_ > 0) fail("a barrier that a thread which has ended will not reach", here);
    if (waiting_ > 0 && !same(barrier_, here)) fail("different barriers: others wait at another one", here);
    barrier_ = here;
    self.state = State::at_barrier;
    self.here = here;
    any_ = any_ || value;
    if (++waiting_ < threads_.size()) {
      leave();
      return any_result_;
    }
    any_result_ = any_;
    any_ = false;
    waiting_ = 0;
    for (unsigned i = 0; i < threads_.size(); ++i) wake(i);
    leave();
    return any_result_;
  }

  /// Brings a value to the lanes of a mask. returns: the ballot, or what lane `from` brought.
  std::uint64_t exchange(Exchange kind, unsigned mask, std::uint64_t value, unsigned from, const Here& here) {
    note(exchanges_, here);
    if (faults_->lanes && site_of(here) == *faults_->lanes) mask &= mask - 1;
    Thread& self = threads_[running_];
    const unsigned first = running_ / kWarp * kWarp;
    const unsigned lane = running_ - first;
    if ((mask >> lane & 1u) == 0) fail("an exchange whose mask leaves out the lane that calls", here);
    if ((mask >> from & 1u) == 0) fail("an exchange that reads a lane outside of its mask", here);
    for (unsigned i = 0; i < kWarp; ++i) {
      if ((mask >> i & 1u) == 0) continue;
      if (first + i >= threads_.size()) fail("an exchange with a lane that the block does not have", here);
      if (threads_[first + i].state == State::done) fail("an exchange with a lane that has ended", here);
    }
    self.state = State::at_exchange;
    self.here = here;
    self.exchange = kind;
    self.mask = mask;
    self.from = from;
    self.value = value;
    exchanging_[first / kWarp] |= 1u << lane;
    if (complete(first, self)) conclude(first, mask);
    leave();
    return threads_[running_].value;
  }

  /// A thread may lose its turn wherever others could see the difference.
  void maybe_yield() {
    if (random_() % 4 != 0) return;
    ready_.push_back(running_);
    leave();
  }

  void copy_async(void* to, const void* from) {
    poison(to, 16, random_() % 2 == 0);  // it may arrive at any time: nobody may still read what was there, or read what comes yet
    threads_[running_].copies.push_back({to, from});
    ++threads_[running_].open;
  }
  void commit() {
    Thread& self = threads_[running_];
    self.groups.push_back(self.open);
    self.open = 0;
  }
  void wait(std::size_t left) {
    Thread& self = threads_[running_];
    if (faults_->arrival) return;
    std::size_t landed = 0;
    std::size_t groups = 0;
    for (; groups + left < self.groups.size(); ++groups) landed += self.groups[groups];
    for (std::size_t i = 0; i < landed; ++i) std::memcpy(self.copies[i].to, self.copies[i].from, 16);
    self.copies.erase(self.copies.begin(), self.copies.begin() + static_cast<std::ptrdiff_t>(landed));
    self.groups.erase(self.groups.begin(), self.groups.begin() + static_cast<std::ptrdiff_t>(groups));
  }

  void merge_reached() {
    const std::scoped_lock lock(settings_mutex);
    for (const auto& [file, line] : barriers_) reached.barriers.insert(site_name(file, line));
    for (const auto& [file, line] : exchanges_) reached.exchanges.insert(site_name(file, line));
  }

 private:
  using Places = std::set<std::pair<const char*, unsigned>>;
  static bool same(const Here& a, const Here& b) { return a.line() == b.line() && a.file_name() == b.file_name(); }
  static void note(Places& places, const Here& here) { places.emplace(here.file_name(), here.line()); }
  static Site site_name(const std::string& file, unsigned line) { return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(line); }

  void start(unsigned i) {
    Thread& t = threads_[i];
    t.state = State::ready;
    t.copies.clear();
    t.groups.clear();
    t.open = 0;
    static thread_local Stacks stacks;
    prepare(t.context, stacks.at(i), kStackBytes, kStagger * (i % 64), [](void* block) { static_cast<Block*>(block)->body(); }, this);
  }

  void body() {
    arrived(threads_[running_].context, main_);
    kernel_(params_);
    Thread& self = threads_[running_];
    self.state = State::done;
    ++done_;
    if (waiting_ > 0) error_ = "a thread ends while others wait at the barrier " + site_of(barrier_);
    switch_context(self.context, main_, true);
  }

  void wake(unsigned i) {
    threads_[i].state = State::ready;
    ready_.push_back(i);
  }

  void leave() { switch_context(threads_[running_].context, main_); }

  /// Nothing on the stack that is left may own memory: nobody comes back to free it.
  [[noreturn]] void fail(const char* what, const Here& here) {
    error_ = "thread " + std::to_string(running_) + " at " + site_of(here) + ": " + what;
    leave();
    __builtin_unreachable();  // a block with an error is never taken up again
  }

  bool complete(unsigned first, const Thread& self) const {
    if ((self.mask & ~exchanging_[first / kWarp]) != 0) return false;  // not all are there
    for (unsigned i = 0; i < kWarp; ++i) {
      if ((self.mask >> i & 1u) == 0) continue;
      const Thread& t = threads_[first + i];
      if (t.state != State::at_exchange || t.mask != self.mask || t.exchange != self.exchange || !same(t.here, self.here)) return false;
    }
    return true;
  }

  void conclude(unsigned first, unsigned mask) {
    std::uint64_t brought[kWarp] = {};
    unsigned votes = 0;
    exchanging_[first / kWarp] &= ~mask;
    for (unsigned i = 0; i < kWarp; ++i) {
      if ((mask >> i & 1u) == 0) continue;
      brought[i] = threads_[first + i].value;
      votes |= brought[i] != 0 ? 1u << i : 0u;
    }
    for (unsigned i = 0; i < kWarp; ++i) {
      if ((mask >> i & 1u) == 0) continue;
      Thread& t = threads_[first + i];
      t.value = t.exchange == Exchange::ballot ? votes : brought[t.from];
      wake(first + i);
    }
  }

  /// Nobody can go on: why the first who waits does.
  std::string stuck() const {
    for (unsigned i = 0; i < threads_.size(); ++i) {
      const Thread& t = threads_[i];
      const std::string who = "thread " + std::to_string(i) + " waits for ever ";
      if (t.state == State::at_barrier) return who + "at the barrier " + site_of(t.here);
      if (t.state == State::at_exchange) return who + "at the exchange " + site_of(t.here) + " for lanes of its mask that do not come";
    }
    return "nobody is ready";
  }

  std::vector<Thread> threads_;
  unsigned char* shared_;
  std::size_t shared_bytes_;
  Context main_;
  unsigned x_ = 0;
  unsigned y_ = 0;
  Grid grid_;
  void (*kernel_)(const void*) = nullptr;
  const void* params_ = nullptr;
  const Faults* faults_ = nullptr;
  std::minstd_rand random_;
  std::vector<unsigned> ready_;
  unsigned running_ = 0;
  std::size_t done_ = 0;
  std::size_t waiting_ = 0;  // at the barrier
  Here barrier_{};           // where they wait
  bool any_ = false;
  bool any_result_ = false;
  unsigned exchanging_[kMostThreads / kWarp] = {};  // lanes of each warp that wait at an exchange
  std::string error_;
  Places barriers_;
  Places exchanges_;
};

thread_local Block* Block::current = nullptr;

}  // namespace

void configure(const Settings& wanted) {
  const std::scoped_lock lock(settings_mutex);
  settings = wanted;
}

Reached take_reached() {
  const std::scoped_lock lock(settings_mutex);
  return std::exchange(reached, {});
}

void run_grid(const Grid& grid, void (*kernel)(const void*), const void* params) {
  if (grid.threads == 0 || grid.threads > kMostThreads || grid.grid_x == 0 || grid.grid_y == 0) throw SimtError("a launch of no or too many threads");
  Settings how;
  {
    const std::scoped_lock lock(settings_mutex);
    how = settings;
    settings.seed = settings.seed * 6364136223846793005u + 1442695040888963407u;
  }
  std::vector<std::uint64_t> order(std::size_t{grid.grid_x} * grid.grid_y);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::shuffle(order.begin(), order.end(), std::minstd_rand(static_cast<unsigned>(how.seed >> 32)));
  Block block(grid.threads, grid.shared_bytes);
  for (const std::uint64_t b : order) block.run(static_cast<unsigned>(b % grid.grid_x), static_cast<unsigned>(b / grid.grid_x), grid, kernel, params, how);
  block.merge_reached();
}

}  // namespace tessera::simt_shim

// --- what kernels see ----------------------------------------------------------------------------------------------------

namespace tessera::cuda::simt {

using simt_shim::Block;

unsigned thread() { return Block::current->running(); }
unsigned threads() { return Block::current->threads(); }
unsigned block_x() { return Block::current->x(); }
unsigned block_y() { return Block::current->y(); }
unsigned grid_x() { return Block::current->grid().grid_x; }
unsigned char* shared_memory() { return Block::current->shared(); }
void sync(Here here) { Block::current->barrier(false, here); }
bool sync_or(bool value, Here here) { return Block::current->barrier(value, here); }
void sync_warp(unsigned mask, Here here) { Block::current->exchange(simt_shim::Exchange::sync, mask, 0, thread() % kWarp, here); }
unsigned ballot(unsigned mask, bool value, Here here) {
  return static_cast<unsigned>(Block::current->exchange(simt_shim::Exchange::ballot, mask, value ? 1 : 0, thread() % kWarp, here));
}
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned from, Here here) {
  return Block::current->exchange(simt_shim::Exchange::shuffle, mask, value, from, here);
}
unsigned atomic_add(unsigned* at, unsigned value) {
  Block::current->maybe_yield();
  const unsigned before = __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
  return before;
}
void atomic_add(std::uint64_t* at, std::uint64_t value) { __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
void copy_async16(void* shared, const void* global) { Block::current->copy_async(shared, global); }
void commit_async() { Block::current->commit(); }
void wait_async(int left) { Block::current->wait(static_cast<std::size_t>(left)); }

}  // namespace tessera::cuda::simt
