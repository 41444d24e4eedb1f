// SPDX-License-Identifier: Apache-2.0
// Here: calling libhdf5 safely: one caller at a time, silent, every identifier closed. Not here: what is read and
// written.
// Include only where TESSERA_HAVE_HDF5.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

namespace tessera::io {

/// Holds libhdf5 for one thread (Debian's is built without locks of its own) and keeps it from printing its errors.
class H5Session {
 public:
  H5Session();
  H5Session(const H5Session&) = delete;
  H5Session& operator=(const H5Session&) = delete;
  ~H5Session();

 private:
  std::unique_lock<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

/// Owns an identifier of any kind: a file, data set, type, space or property list.
class H5Id {
 public:
  H5Id() = default;
  explicit H5Id(hid_t id) noexcept : id_(id) {}
  H5Id(H5Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  H5Id& operator=(H5Id&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~H5Id() { close(); }

  explicit operator bool() const noexcept { return id_ >= 0; }
  hid_t get() const noexcept { return id_; }
  /// Closes now. returns  false when that failed: a file's last bytes are written here.
  bool close() noexcept { return id_ < 0 || H5Idec_ref(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

/// File access without locks: for a file whose name nobody else knows. Some file systems cannot lock.
H5Id h5_access_without_locks();

/// Why the last call failed, in libhdf5's words; one line.
std::string h5_reason();

}  // namespace tessera::io
