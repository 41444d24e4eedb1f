// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tessera/rows.hpp"

namespace tessera::core {

/// Runs independent tasks on a fixed number of workers. Every task runs in a StrictFloatEnv.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual int threads() const noexcept = 0;

  /// Calls body(task, worker) once for every task in [0, tasks), worker in [0, threads()); no two calls with one worker number
  /// overlap. The first exception stops the handing out of tasks and is rethrown here.
  virtual void run(Index tasks, const std::function<void(Index task, int worker)>& body) = 0;
};

}  // namespace tessera::core
