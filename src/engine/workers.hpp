// SPDX-License-Identifier: Apache-2.0
// Here: who runs tasks. Not here: what the tasks are.
#pragma once

#include <memory>

#include "core/executor.hpp"

namespace tessera::engine {

/// oneTBB where it was found, else std::thread. threads = 0: the cores the process may use.
std::unique_ptr<core::Executor> make_executor(int threads);

}  // namespace tessera::engine
