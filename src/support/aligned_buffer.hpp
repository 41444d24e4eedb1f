// SPDX-License-Identifier: Apache-2.0
// Here: memory for kernels. Not here: any policy about how much (engine/plan decides).
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "support/fail.hpp"

namespace tessera::support {

inline constexpr std::size_t kAlignment = 64;  // one cache line, one AVX-512 register

inline constexpr std::size_t kHugePage = std::size_t{1} << 21;

/// Uninitialised memory at a multiple of kAlignment; large blocks lie on huge pages where the system grants them (a packed base
/// is walked end to end, and page faults and TLB misses would show). Null when there is none.
void* allocate_aligned(std::size_t bytes) noexcept;
void free_aligned(void* p) noexcept;

/// An uninitialised array of trivially destructible T, 64-byte aligned. Running out of memory is an Error.
template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* p = size <= (static_cast<std::size_t>(-1) >> 1) / sizeof(T) ? allocate_aligned(size * sizeof(T)) : nullptr;
    if (p == nullptr) {
      fail(ErrorCode::out_of_memory, "cannot allocate {} elements of {} bytes: lower --memory or use fewer rows", size, sizeof(T));
    }
    data_.reset(static_cast<T*>(p));
  }

  T* data() noexcept { return data_.get(); }
  const T* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  T& operator[](std::size_t i) noexcept { return data_.get()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_.get()[i]; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  struct Free {
    void operator()(T* p) const noexcept { free_aligned(p); }
  };

  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace tessera::support
