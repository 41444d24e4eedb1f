// SPDX-License-Identifier: Apache-2.0
#include "io/python_dict.hpp"

#include <charconv>

#include "support/fail.hpp"

namespace tessera::io {

char PythonReader::peek() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
  return at_ < text_.size() ? text_[at_] : '\0';
}

void PythonReader::fail_wanting(std::string_view what) {
  std::string seen;
  for (const char c : text_.substr(at_, 20)) seen.push_back(c >= ' ' && c < '\x7f' ? c : '?');
  support::fail(ErrorCode::malformed_input,
                "'{}': broken .npy header: '{}' at character {}; wanted {}; write the file again", name_, seen, at_,
                what);
}

bool PythonReader::take(char c) {
  if (peek() != c || at_ >= text_.size()) return false;
  ++at_;
  return true;
}

void PythonReader::expect(char c) {
  if (!take(c)) fail_wanting(fmt::format("'{}'", c));
}

bool PythonReader::at_end() { return peek() == '\0' && at_ >= text_.size(); }

std::string PythonReader::string() {
  const char quote = peek();
  if (quote != '\'' && quote != '"') fail_wanting("a string");
  const std::size_t end = text_.find(quote, at_ + 1);
  if (end == std::string_view::npos) fail_wanting("the end of a string");
  const std::string value(text_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  return value;
}

std::string PythonReader::bracketed() {
  if (peek() != '[') fail_wanting("'['");
  int depth = 0;
  for (std::size_t end = at_; end < text_.size(); ++end) {
    depth += text_[end] == '[' ? 1 : 0;
    depth -= text_[end] == ']' ? 1 : 0;
    if (depth > 0) continue;
    const std::string value(text_.substr(at_, end + 1 - at_));
    at_ = end + 1;
    return value;
  }
  fail_wanting("a closing ']'");
}

bool PythonReader::boolean() {
  peek();
  for (const std::string_view word : {"True", "False"}) {
    if (!text_.substr(at_).starts_with(word)) continue;
    at_ += word.size();
    return word == "True";
  }
  fail_wanting("True or False");
}

std::uint64_t PythonReader::number() {
  peek();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc{}) fail_wanting("a count below 2^64");
  at_ = static_cast<std::size_t>(end - text_.data());
  take('L');
  return value;
}

std::vector<std::uint64_t> PythonReader::tuple() {
  std::vector<std::uint64_t> values;
  expect('(');
  while (!take(')')) {
    values.push_back(number());
    if (!take(',') && peek() != ')') fail_wanting("',' or ')'");
  }
  return values;
}

}  // namespace tessera::io
