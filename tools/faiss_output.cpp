// SPDX-License-Identifier: Apache-2.0
#include "faiss_output.hpp"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace tessera::cli {
namespace {

void flush() noexcept {
  std::fflush(stdout);
  std::fflush(stderr);
}

/// Puts back what a descriptor was.
void restore(int saved, int target) noexcept {
  if (saved < 0) return;
  ::dup2(saved, target);
  ::close(saved);
}

int saved(int descriptor) noexcept { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3); }

}  // namespace

FaissOutput::FaissOutput(bool quiet) noexcept {
  flush();
  const int nowhere = quiet ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
  out_ = saved(STDOUT_FILENO);
  if (out_ >= 0) ::dup2(nowhere >= 0 ? nowhere : STDERR_FILENO, STDOUT_FILENO);
  if (nowhere < 0) return;
  error_ = saved(STDERR_FILENO);
  if (error_ >= 0) ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

FaissOutput::~FaissOutput() {
  flush();  // what FAISS left in stdio's buffers goes where FAISS's output goes
  restore(out_, STDOUT_FILENO);
  restore(error_, STDERR_FILENO);
}

}  // namespace tessera::cli
