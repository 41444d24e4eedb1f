// SPDX-License-Identifier: Apache-2.0
// Here: what the command's exit status means. Not here: the messages that go with it.
#pragma once

#include <stdexcept>

#include "tessera/error.hpp"

namespace tessera::cli {

/// The exit status of every command (docs/cli.md).
enum ExitCode : int {
  kExitDone = 0,
  kExitRuntime = 1,        ///< can't open, I/O, memory, device, unsupported in this build
  kExitUsage = 2,          ///< the command line is wrong
  kExitInput = 3,          ///< malformed input, or inputs that don't fit each other
  kExitGate = 4,           ///< a gate the user set was missed
  kExitInterrupted = 130   ///< 128 + SIGINT, as shells report it
};

/// Thrown when everything was done and reported, and a gate the user set was missed.
class GateMissed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

constexpr ExitCode exit_code_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return kExitUsage;
    case ErrorCode::malformed_input: return kExitInput;
    case ErrorCode::cancelled: return kExitInterrupted;
    case ErrorCode::unsupported:
    case ErrorCode::io:
    case ErrorCode::out_of_memory:
    case ErrorCode::device:
    case ErrorCode::internal: return kExitRuntime;
  }
  return kExitRuntime;
}

}  // namespace tessera::cli
