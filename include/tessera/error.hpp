// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tessera/export.hpp"

namespace tessera {

/// What kind of thing went wrong; the command maps each kind to an exit code (docs/design.md).
enum class ErrorCode : std::uint8_t {
  invalid_argument,  ///< the call itself is wrong: dimension mismatch, k < 1, unknown name
  unsupported,       ///< right, but not in this build or on this machine
  malformed_input,   ///< the data are broken: truncated file, NaN row, inconsistent header
  io,                ///< open, read, write or map failed
  out_of_memory,     ///< the memory budget, or the machine, cannot hold it
  device,            ///< a CUDA or driver failure
  cancelled,         ///< the caller's stop token was triggered
  internal           ///< a broken invariant: please report it
};

/// The one exception type of the library. The message names the thing, the value seen and the value wanted.
class TESSERA_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace tessera
