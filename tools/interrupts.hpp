// SPDX-License-Identifier: Apache-2.0
// Here: what Ctrl-C and SIGTERM do. Not here: how a computation stops (it polls the stop token).
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <thread>

namespace tessera::cli {

/// Turns SIGINT and SIGTERM into a stop request.
///
/// The handler only wakes a thread of ours, which does the rest. Construct it once. A signal the caller had ignored (nohup,
/// a shell's background job) stays ignored.
class Interrupts {
 public:
  enum class Phase : std::uint8_t {
    idle,       ///< nothing is on disk and nothing polls the token: leave at once
    computing,  ///< request a stop; a second signal leaves at once
    writing     ///< a temporary file exists: let it be finished and renamed
  };

  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  void enter(Phase phase) noexcept { phase_ = phase; }
  std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  void watch() noexcept;
  void react() noexcept;

  std::stop_source source_;
  std::atomic<Phase> phase_{Phase::idle};
  std::atomic<bool> closing_{false};
  std::jthread watcher_;
};

}  // namespace tessera::cli
