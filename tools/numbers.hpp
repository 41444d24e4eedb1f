// SPDX-License-Identifier: Apache-2.0
// Here: numbers out of a flag's text. Not here: which are allowed, and what is said when they are not (each flag's own).
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tessera::cli {

/// The number that all of `text` spells, if it does: no spaces, no units, within T's range.
template <typename T>
std::optional<T> read_number(std::string_view text) noexcept {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc{} || rest != end) return std::nullopt;
  return value;
}

}  // namespace tessera::cli
