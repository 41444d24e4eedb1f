// SPDX-License-Identifier: Apache-2.0
#include "interrupts.hpp"

#include <csignal>
#include <cstdio>

#include <pthread.h>
#include <unistd.h>

#include "exit_codes.hpp"

namespace tessera::cli {
namespace {

// Wakes the watcher when the command ends; no user sends it to mean something else.
constexpr int kWakeSignal = SIGUSR1;

bool is_ignored(int signal) noexcept {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t watched_signals() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kWakeSignal);
  for (const int signal : {SIGINT, SIGTERM}) {
    if (!is_ignored(signal)) sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

Interrupts::Interrupts() {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::jthread([this] { watch(); });
}

Interrupts::~Interrupts() {
  closing_ = true;
  pthread_kill(watcher_.native_handle(), kWakeSignal);
}

void Interrupts::watch() noexcept {
  const sigset_t set = watched_signals();
  while (!closing_) {
    int signal = 0;
    if (sigwait(&set, &signal) == 0 && signal != kWakeSignal) react();
  }
}

void Interrupts::react() noexcept {
  const Phase phase = phase_;
  // A terminal has just echoed ^C; a log has not.
  const char* const line_break = isatty(STDERR_FILENO) == 1 ? "\n" : "";
  if (phase == Phase::writing) {
    std::fprintf(stderr, "%stessera: interrupted, finishing the output file\n", line_break);
    return;
  }
  const bool first = source_.request_stop();
  if (phase == Phase::computing && first) return;
  std::fprintf(stderr, "%stessera: interrupted\n", line_break);
  _exit(kExitInterrupted);  // not exit(): other threads are still running, and nothing is left to flush or remove
}

}  // namespace tessera::cli
