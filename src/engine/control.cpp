// SPDX-License-Identifier: Apache-2.0
#include "engine/control.hpp"

#include "support/fail.hpp"

namespace tessera::engine {
namespace {

constexpr std::chrono::milliseconds kReportInterval{100};

}  // namespace

void Control::begin_phase(std::string_view phase, double total) {
  check();
  phase_ = phase;
  total_ = total;
  done_ = 0;
  if (progress_) progress_({phase_, 0, total_});
}

void Control::advance(double done) {
  check();
  if (!progress_) return;
  const double now_done = done_.fetch_add(done) + done;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < kReportInterval) return;
  last_ = now;
  progress_({phase_, now_done, total_});
}

void Control::end_phase() {
  if (progress_) progress_({phase_, total_, total_});
}

void Control::check() const {
  if (stop_.stop_requested()) support::fail(ErrorCode::cancelled, "interrupted");
}

}  // namespace tessera::engine
