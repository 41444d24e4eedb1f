// SPDX-License-Identifier: Apache-2.0
// Here: what FAISS prints by itself, kept off the report. Not here: what the command prints.
#pragma once

namespace tessera::cli {

/// FAISS warns on stdout and stderr as it likes. While this lives, what goes to stdout goes to stderr instead, so that stdout carries the
/// report alone; quiet: neither goes anywhere.
class FaissOutput {
 public:
  explicit FaissOutput(bool quiet) noexcept;
  ~FaissOutput();
  FaissOutput(const FaissOutput&) = delete;
  FaissOutput& operator=(const FaissOutput&) = delete;

 private:
  int out_ = -1;  // what stdout and stderr were; -1: left alone
  int error_ = -1;
};

}  // namespace tessera::cli
