// SPDX-License-Identifier: Apache-2.0
// Here: memory of a device, owned. Not here: the device itself (kernels/cuda/device.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/cuda/device.hpp"

namespace tessera::engine {

/// An uninitialised array on the device, or pinned on the host; grows by being made anew.
template <class T, bool Pinned>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(std::shared_ptr<cuda::Device> device, std::size_t size) : device_(std::move(device)), size_(size) {
    if (size == 0) return;
    data_ = static_cast<T*>(Pinned ? device_->allocate_pinned(bytes()) : device_->allocate(bytes()));
  }
  ~DeviceArray() { drop(); }
  DeviceArray(DeviceArray&& other) noexcept
      : device_(std::move(other.device_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    if (this == &other) return *this;
    drop();
    device_ = std::move(other.device_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  /// At least `size` elements; what was there is lost when there were fewer.
  void reserve(const std::shared_ptr<cuda::Device>& device, std::size_t size) {
    if (size <= size_) return;
    drop();
    *this = DeviceArray(device, size);
  }

  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  T& operator[](std::size_t i) const noexcept
    requires Pinned
  {
    return data_[i];
  }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  void drop() noexcept {
    if (data_ != nullptr && Pinned) device_->release_pinned(data_);
    if (data_ != nullptr && !Pinned) device_->release(data_);
    data_ = nullptr;
    size_ = 0;
  }

  std::shared_ptr<cuda::Device> device_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
using DeviceBuffer = DeviceArray<T, false>;
template <class T>
using PinnedBuffer = DeviceArray<T, true>;

/// A copy on the device; `from` stays until the stream has been waited for.
template <class T>
DeviceBuffer<T> uploaded(const std::shared_ptr<cuda::Device>& device, cuda::Stream& stream, const T* from, std::size_t size) {
  DeviceBuffer<T> to(device, size);
  if (size > 0) stream.copy_in(to.data(), from, to.bytes());
  return to;
}

}  // namespace tessera::engine
