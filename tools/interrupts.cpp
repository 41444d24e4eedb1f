// SPDX-License-Identifier: Apache-2.0
#include "interrupts.hpp"

#include <csignal>
#include <cstdio>

#include <semaphore.h>
#include <unistd.h>

#include "exit_codes.hpp"

namespace tessera::cli {
namespace {

// What a handler may touch. A library's threads may have started before main() and take signals too, so masks would not do.
sem_t wake;
volatile std::sig_atomic_t struck = 0;

extern "C" void on_signal(int) {
  struck = struck + 1;
  sem_post(&wake);
}

bool is_ignored(int signal) noexcept {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// SIGINT and SIGTERM, unless the caller had them ignored.
void handle(void (*handler)(int)) noexcept {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // no read or write elsewhere ends early for it
  for (const int signal : {SIGINT, SIGTERM}) {
    if (!is_ignored(signal)) sigaction(signal, &action, nullptr);
  }
}

}  // namespace

Interrupts::Interrupts() {
  sem_init(&wake, 0, 0);
  watcher_ = std::jthread([this] { watch(); });
  handle(on_signal);
}

Interrupts::~Interrupts() {
  handle(SIG_IGN);  // the command is over: its exit status is what counts, a few instructions from here
  closing_ = true;
  sem_post(&wake);
}

void Interrupts::watch() noexcept {
  int seen = 0;
  while (true) {
    while (sem_wait(&wake) != 0) {}
    if (closing_) return;
    if (struck == seen) continue;
    ++seen;
    react();
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
