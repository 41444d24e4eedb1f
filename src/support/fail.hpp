// SPDX-License-Identifier: Apache-2.0
// Here: turning a formatted message into an Error. Not here: what the message means to a user (the caller knows).
#pragma once

#include <fmt/format.h>

#include "tessera/error.hpp"

namespace tessera::support {

/// Throws Error{code, formatted message}.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace tessera::support
