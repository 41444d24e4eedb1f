// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace tessera {

/// Where a long call stands. done and total count query-base pairs in phase "search", rows in "prepare" and "write", bytes
/// in "dump" and "verify".
struct Progress {
  std::string_view phase;  // "prepare", "search", "write", "dump" or "verify"
  double done = 0;
  double total = 0;
};

/// Called at most about ten times a second, never from two threads at once; must not throw.
using ProgressFunction = std::function<void(const Progress&)>;

}  // namespace tessera
