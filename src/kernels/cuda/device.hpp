// SPDX-License-Identifier: Apache-2.0
// Here: what the CUDA backend asks of a device: memory, ordered copies, kernel launches by name. Two places answer: the CUDA runtime
// (kernels/cuda/runtime.cpp) and the host shim that tests run kernels with (tests/simt).
// Not here: what kernels compute, what the backend does with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tessera::cuda {

struct DeviceProperties {
  int ordinal = 0;
  std::string name;
  int arch = 0;                        // compute capability: 80, 90, ...
  int multiprocessors = 0;
  std::uint64_t memory_total = 0;      // bytes
  std::uint64_t memory_free = 0;       // bytes, when asked
  std::uint64_t l2_bytes = 0;
  std::uint64_t shared_per_block = 0;  // bytes a block may opt in to
};

/// Kernels by number; each takes one struct of parameters by value (kernels/cuda/params.hpp).
enum class KernelId : std::uint16_t;

struct LaunchShape {
  std::uint32_t grid_x = 1;
  std::uint32_t grid_y = 1;
  std::uint32_t block_x = 1;
  std::size_t shared_bytes = 0;  // dynamic
};

/// Work in order. Copies from and to pageable memory are legal and wait; from pinned memory they do not.
/// Every member throws Error{unsupported} or Error{out_of_memory} with the status, what was asked, and what to do.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void copy_in(void* device, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, const void* device, std::size_t bytes) = 0;
  virtual void fill(void* device, int byte, std::size_t bytes) = 0;
  virtual void launch(KernelId kernel, const LaunchShape& shape, const void* params) = 0;
  virtual void wait() = 0;  ///< until all of it is done
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceProperties properties() const = 0;
  virtual void* allocate(std::size_t bytes) = 0;  ///< aligned to 256 bytes
  virtual void release(void* memory) noexcept = 0;
  virtual void* allocate_pinned(std::size_t bytes) = 0;  ///< host memory that copies overlap with
  virtual void release_pinned(void* memory) noexcept = 0;
  virtual std::unique_ptr<Stream> stream() = 0;
};

}  // namespace tessera::cuda
