// SPDX-License-Identifier: Apache-2.0
#include "simt/shim_device.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "kernels/cuda/kernels.cuh"
#include "simt/shim.hpp"
#include "support/fail.hpp"

namespace tessera::simt_shim {
namespace {

using namespace cuda;  // names of kernels.def

struct HostKernel {
  const char* name;
  std::size_t params_bytes;
  unsigned most_threads;
  void (*run)(const void* params);
};

const HostKernel kHostKernels[] = {
#define TESSERA_CUDA_KERNEL(id, Params, threads, blocks, ...) \
  {#id, sizeof(Params), threads, [](const void* params) { \
     __VA_ARGS__(*static_cast<const Params*>(params)); \
   }},
#include "kernels/cuda/kernels.def"
#undef TESSERA_CUDA_KERNEL
};

/// Pieces of memory that were handed out, to see that copies stay within them.
class Pieces {
 public:
  void* take(std::size_t bytes) {
    void* memory = ::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t{256});
    std::memset(memory, 0xa5, bytes);
    const std::scoped_lock lock(mutex_);
    pieces_[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
    total_ += bytes;
    return memory;
  }
  void drop(void* memory) noexcept {
    if (memory == nullptr) return;
    {
      const std::scoped_lock lock(mutex_);
      const auto at = pieces_.find(reinterpret_cast<std::uintptr_t>(memory));
      if (at == pieces_.end()) return;
      total_ -= at->second;
      pieces_.erase(at);
    }
    ::operator delete(memory, std::align_val_t{256});
  }
  bool holds(const void* memory, std::size_t bytes) const {
    const std::scoped_lock lock(mutex_);
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    auto next = pieces_.upper_bound(at);
    if (next == pieces_.begin()) return false;
    --next;
    return at + bytes <= next->first + next->second;
  }
  std::uint64_t total() const {
    const std::scoped_lock lock(mutex_);
    return total_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> pieces_;
  std::uint64_t total_ = 0;
};

class ShimStream final : public cuda::Stream {
 public:
  ShimStream(const Pieces& device, const Pieces& pinned) : device_(device), pinned_(pinned) {}

  void copy_in(void* to, const void* from, std::size_t bytes) override {
    check(to, bytes);
    later([=] { std::memcpy(to, from, bytes); }, from, bytes);
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override {
    check(from, bytes);
    if (pinned_.holds(to, bytes)) std::memset(to, 0x5a, bytes);  // not there yet
    later([=] { std::memcpy(to, from, bytes); }, to, bytes);
  }
  void fill(void* at, int byte, std::size_t bytes) override {
    check(at, bytes);
    work_.emplace_back([=] { std::memset(at, byte, bytes); });
  }
  void launch(cuda::KernelId id, const cuda::LaunchShape& shape, const void* params) override {
    const HostKernel& kernel = kHostKernels[static_cast<int>(id)];
    if (shape.block_x > kernel.most_threads || shape.block_x % 32 != 0) throw SimtError(std::string(kernel.name) + ": a block of the wrong size");
    if (shape.grid_y > 65535) throw SimtError(std::string(kernel.name) + ": a grid that is too high");
    std::vector<std::byte> copy(static_cast<const std::byte*>(params), static_cast<const std::byte*>(params) + kernel.params_bytes);
    work_.emplace_back([&kernel, shape, params_copy = std::move(copy)] {
      try {
        run_grid({shape.grid_x, shape.grid_y, shape.block_x, shape.shared_bytes}, kernel.run, params_copy.data());
      } catch (const SimtError& error) {
        throw SimtError(std::string(kernel.name) + ", " + error.what());
      }
    });
  }
  void wait() override {
    auto work = std::move(work_);
    work_.clear();
    for (const auto& step : work) step();
  }

 private:
  void check(const void* memory, std::size_t bytes) const {
    if (!device_.holds(memory, bytes)) throw SimtError("a copy past the device memory that was allocated");
  }
  void later(std::function<void()> step, const void* host, std::size_t bytes) {
    work_.push_back(std::move(step));
    if (!pinned_.holds(host, bytes)) wait();
  }

  const Pieces& device_;
  const Pieces& pinned_;
  std::vector<std::function<void()>> work_;
};

class ShimDevice final : public cuda::Device {
 public:
  explicit ShimDevice(const DeviceSettings& settings) : settings_(settings) {}
  cuda::DeviceProperties properties() const override {
    return {.ordinal = 0, .name = "host shim", .arch = 80, .multiprocessors = 1, .memory_total = settings_.memory,
            .memory_free = settings_.memory - device_.total(), .l2_bytes = std::uint64_t{1} << 20, .shared_per_block = 163 * 1024};
  }
  void* allocate(std::size_t bytes) override {
    if (device_.total() + bytes > settings_.memory) {
      support::fail(ErrorCode::out_of_memory, "the device has {} bytes, {} are taken and {} more are asked for", settings_.memory, device_.total(), bytes);
    }
    return device_.take(bytes);
  }
  void release(void* memory) noexcept override { device_.drop(memory); }
  void* allocate_pinned(std::size_t bytes) override { return pinned_.take(bytes); }
  void release_pinned(void* memory) noexcept override { pinned_.drop(memory); }
  std::unique_ptr<cuda::Stream> stream() override { return std::make_unique<ShimStream>(device_, pinned_); }

 private:
  DeviceSettings settings_;
  Pieces device_;
  Pieces pinned_;
};

}  // namespace

std::shared_ptr<cuda::Device> make_shim_device(const DeviceSettings& settings) { return std::make_shared<ShimDevice>(settings); }

}  // namespace tessera::simt_shim
