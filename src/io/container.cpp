// SPDX-License-Identifier: Apache-2.0
#include "io/container.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "support/fail.hpp"

namespace tessera::io {

namespace {

// Chosen: a message stays readable, and a checkpoint may hold hundreds of tensors.
constexpr std::size_t kMostListed = 20;

/// "ids <i8 (10, 5), distances <f4 (10, 5)"
std::string list_arrays(const std::vector<ArrayEntry>& arrays) {
  if (arrays.empty()) return "no arrays";
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(arrays.size(), kMostListed); ++i) {
    lines.push_back(
        fmt::format("{} {} {}", printable(arrays[i].name), printable(arrays[i].type), shape_text(arrays[i].shape)));
  }
  const std::string more = arrays.size() > kMostListed ? fmt::format(", and {} more", arrays.size() - kMostListed) : "";
  return fmt::format("{}{}", fmt::join(lines, ", "), more);
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string out(text.substr(0, most));
  std::replace_if(out.begin(), out.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text.size() > most ? out + "..." : out;
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::size_t choose_array(const std::vector<ArrayEntry>& arrays, const ArrayQuestion& question) {
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const bool fits = question.wanted.empty() ? arrays[i].shape.size() == 2 || arrays.size() == 1
                                              : arrays[i].name == question.wanted;
    if (fits) fitting.push_back(i);
  }
  if (fitting.size() == 1) return fitting.front();
  if (!question.wanted.empty()) {
    support::fail(ErrorCode::invalid_argument, "'{}' has no array named '{}' of its own; it holds: {}", question.file,
                  question.wanted, list_arrays(arrays));
  }
  const auto preferred = std::find_if(fitting.begin(), fitting.end(),
                                      [&](std::size_t i) { return arrays[i].name == question.preferred; });
  if (!question.preferred.empty() && preferred != fitting.end()) return *preferred;
  support::fail(ErrorCode::invalid_argument, "'{}' holds {} 2-D arrays; name one as FILE:NAME; it holds: {}",
                question.file, fitting.size(), list_arrays(arrays));
}

}  // namespace tessera::io
