// SPDX-License-Identifier: Apache-2.0
// Here: showing where a long call stands, on stderr. Not here: when it is reported (the engine decides).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/progress.hpp"

namespace tessera::cli {

enum class ProgressMode : std::uint8_t {
  automatic,  ///< a bar on a terminal, nothing elsewhere
  never,
  plain       ///< a line every few seconds, without control characters: for logs
};

/// Throws Error{invalid_argument} for any other name than auto, never, plain.
ProgressMode parse_progress_mode(std::string_view name);

/// Draws a bar with rate and time left. Outlives the call that reports to it.
class ProgressPrinter {
 public:
  ProgressPrinter(ProgressMode mode, bool quiet);
  ~ProgressPrinter() { clear(); }
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  /// Empty when nothing is to be shown.
  ProgressFunction function();
  /// Takes the bar off the terminal, so that the next message starts on a clean line.
  void clear() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Style : std::uint8_t { none, bar, lines };

  void show(const Progress& progress) noexcept;

  Style style_ = Style::none;
  bool drawn_ = false;
  std::string phase_;
  Clock::time_point phase_start_{};
  Clock::time_point last_line_{};
};

/// "search   43 %  1.2 G pairs/s  12 s left", with a bar in front when bar_width > 0.
std::string progress_line(const Progress& progress, double seconds, int bar_width);

}  // namespace tessera::cli
