// SPDX-License-Identifier: Apache-2.0
#include "io/h5_library.hpp"

#include <string>
#include <string_view>

#include "io/container.hpp"

namespace tessera::io {

namespace {

// Shared on purpose: libhdf5 has one state for the process.
std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// What the system said, where libhdf5 tells the time, its buffers and descriptors, too.
std::string plain_reason(const std::string& text) {
  constexpr std::string_view kMessage = "error message = '";
  const auto details = text.find(": time = ");
  const auto message = text.find(kMessage);
  const auto end = message == std::string::npos ? message : text.find('\'', message + kMessage.size());
  if (details == std::string::npos || end == std::string::npos) return text;
  return text.substr(0, details + 2) + text.substr(message + kMessage.size(), end - message - kMessage.size());
}

/// Keeps the first description: walking upward, the stack starts with the cause.
herr_t keep_first(unsigned, const H5E_error2_t* error, void* out) noexcept {
  auto& text = *static_cast<std::string*>(out);
  if (text.empty() && error->desc != nullptr) text = printable(plain_reason(error->desc), 200);
  return 0;
}

}  // namespace

H5Session::H5Session() : lock_(library_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

H5Session::~H5Session() {
  H5Eclear2(H5E_DEFAULT);
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

#if H5_VERSION_GE(1, 10, 7)
H5Id h5_access_without_locks() {
  H5Id access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_file_locking(access.get(), false, true);
  return access;
}
#else
H5Id h5_access_without_locks() { return H5Id(H5Pcreate(H5P_FILE_ACCESS)); }
#endif

std::string h5_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  return text.empty() ? "libhdf5 gives no reason" : text;
}

}  // namespace tessera::io
