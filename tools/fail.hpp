// SPDX-License-Identifier: Apache-2.0
// Here: throwing the library's Error with a formatted message, for the command's own checks.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "tessera/error.hpp"

namespace tessera::cli {

/// Throws Error{code, formatted message}; main() turns the code into an exit status.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace tessera::cli
