// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "args.hpp"
#include "report.hpp"

namespace tessera::cli {
namespace {

constexpr int kBarWidth = 30;                          // chosen: the longest line then stays below 80 columns
constexpr auto kLineInterval = std::chrono::seconds(2);  // chosen: a log of an hour stays below 2,000 lines

}  // namespace

ProgressMode parse_progress_mode(std::string_view name) {
  return choose<ProgressMode>("--progress", name,
                              {{"auto", ProgressMode::automatic},
                               {"never", ProgressMode::never},
                               {"plain", ProgressMode::plain}});
}

ProgressPrinter::ProgressPrinter(ProgressMode mode, bool quiet) {
  if (quiet || mode == ProgressMode::never) return;
  if (mode == ProgressMode::plain) {
    style_ = Style::lines;
  } else if (isatty(STDERR_FILENO) == 1) {
    style_ = Style::bar;
  }
}

ProgressFunction ProgressPrinter::function() {
  if (style_ == Style::none) return {};
  return [this](const Progress& progress) { show(progress); };
}

void ProgressPrinter::clear() noexcept {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void ProgressPrinter::show(const Progress& progress) noexcept {
  try {
    const auto now = Clock::now();
    if (progress.phase != phase_) {
      phase_ = progress.phase;
      phase_start_ = now;
      last_line_ = now;
    }
    const double seconds = std::chrono::duration<double>(now - phase_start_).count();
    if (style_ == Style::bar) {
      std::fputs(("\r" + progress_line(progress, seconds, kBarWidth) + "\033[K").c_str(), stderr);
      drawn_ = true;
    } else if (now - last_line_ >= kLineInterval) {
      std::fputs((progress_line(progress, seconds, 0) + "\n").c_str(), stderr);
      last_line_ = now;
    }
  } catch (...) {
    // Out of memory for a line of text: the computation matters more.
  }
}

std::string progress_line(const Progress& progress, double seconds, int bar_width) {
  const double fraction = progress.total > 0 ? std::clamp(progress.done / progress.total, 0.0, 1.0) : 0.0;
  std::string line;
  if (bar_width > 0) {
    const int filled = static_cast<int>(fraction * bar_width);
    line = fmt::format("[{:#<{}}{:.<{}}] ", "", filled, "", bar_width - filled);
  }
  line += fmt::format("{:<7} {:3.0f} %", progress.phase, 100 * fraction);
  if (seconds > 0 && progress.done > 0) {
    const double rate = progress.done / seconds;
    if (progress.phase == "dump" || progress.phase == "verify") {
      line += fmt::format("  {:.0f} MB/s", rate / 1e6);
    } else {
      line += fmt::format("  {} {}/s", human_count(rate), progress.phase == "search" ? "pairs" : "rows");
    }
    const double left = std::max(0.0, progress.total - progress.done) / rate;
    line += left < 99.5 ? fmt::format("  {:.0f} s left", left) : fmt::format("  {} left", human_seconds(left));
  }
  return line;
}

}  // namespace tessera::cli
