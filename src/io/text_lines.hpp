// SPDX-License-Identifier: Apache-2.0
// Here: text taken line by line, and numbers in it. Not here: what any line means.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

inline constexpr std::string_view kLineBlanks = " \t\r\v\f";

inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kLineBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kLineBlanks) + 1 - first);
}

/// Lines of a text, without their ends; counts from 1.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    ++number_;
    return true;
  }
  std::size_t number() const noexcept { return number_; }  ///< of the line last taken

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Fields between blanks.
inline std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
    const std::size_t end = std::min(line.find_first_of(kLineBlanks), line.size());
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return fields;
}

inline std::optional<double> number_in(std::string_view field) {
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);  // from_chars knows no '+'
  double value = 0;
  const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || stop != field.data() + field.size() || field.empty()) return std::nullopt;
  return value;
}

inline std::optional<std::int64_t> count_in(std::string_view field) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || stop != field.data() + field.size() || field.empty() || value < 0) return std::nullopt;
  return value;
}

/// At most 40 characters that any terminal can show.
inline std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out.push_back(c >= ' ' && c < '\x7f' ? c : '?');
  return out;
}

}  // namespace tessera::io
