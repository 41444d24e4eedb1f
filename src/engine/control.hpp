// SPDX-License-Identifier: Apache-2.0
// Here: progress and cancellation, seen from inside the loops.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <stop_token>
#include <string_view>

#include "tessera/progress.hpp"

namespace tessera::engine {

/// Shared by all workers of a call.
class Control {
 public:
  Control(const ProgressFunction& progress, std::stop_token stop) : progress_(progress), stop_(std::move(stop)) {}

  void begin_phase(std::string_view phase, double total);
  /// Counts work done; reports at most ten times a second. Throws Error{cancelled} once a stop is requested.
  void advance(double done);
  void end_phase();
  void check() const;  ///< throws Error{cancelled} once a stop is requested

 private:
  using Clock = std::chrono::steady_clock;

  const ProgressFunction& progress_;
  std::stop_token stop_;
  std::string_view phase_;
  double total_ = 0;
  std::atomic<double> done_{0};
  std::mutex mutex_;
  Clock::time_point last_{};
};

/// Seconds since construction.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tessera::engine
