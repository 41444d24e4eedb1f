// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>

#include "support/fail.hpp"

namespace tessera::api {

/// Running out of memory anywhere below is an Error like any other.
template <class Call>
auto guarded(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    support::fail(ErrorCode::out_of_memory, "out of memory: lower the memory budget, k, or the number of rows at a time");
  }
}

}  // namespace tessera::api
