// SPDX-License-Identifier: Apache-2.0
// Numbers as text: one row a line, separated by commas or blanks; '#' lines and empty lines are skipped, and so is a
// first line without any number (column names). Read as float64.
#include <vector>

#include "io/format.hpp"
#include "io/layout.hpp"
#include "io/looks_like.hpp"
#include "io/text_lines.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

constexpr std::string_view kBlanks = " \t\r";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

/// Splits a trimmed line. With a comma anywhere, commas separate and a field may be empty (which is no number);
/// else runs of blanks do.
void split(std::string_view line, std::vector<std::string_view>& tokens) {
  tokens.clear();
  const bool commas = line.find(',') != std::string_view::npos;
  const std::string_view separators = commas ? "," : kBlanks;
  while (true) {
    const std::size_t end = line.find_first_of(separators);
    tokens.push_back(trim(line.substr(0, end)));
    if (end == std::string_view::npos) return;
    line = commas ? line.substr(end + 1) : trim(line.substr(end));
  }
}

/// Reads lines into values.
class TextParser {
 public:
  explicit TextParser(const Input& input) : input_(input) {}

  void parse() {
    std::string_view text = as_text(input_.bytes);
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark, as spreadsheets write it
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
      line_number_ = lines.number();
      parse_line(trim(line));
    }
  }

  std::vector<double>& values() { return values_; }
  std::size_t cols() const { return cols_; }

 private:
  void parse_line(std::string_view line) {
    if (line.empty() || line.starts_with('#')) return;
    split(line, tokens_);
    const bool first = !seen_first_;
    seen_first_ = true;
    if (first && is_header()) return;
    if (cols_ == 0) cols_ = tokens_.size();
    if (tokens_.size() != cols_) {
      fail(ErrorCode::malformed_input, "'{}' line {}: {} numbers, earlier lines have {}; mend the line{}", input_.name,
           line_number_, tokens_.size(), cols_, looks_like(input_.bytes, input_.format).text);
    }
    for (const std::string_view token : tokens_) {
      const auto value = number_in(token);
      if (!value) fail_token(token);
      values_.push_back(*value);
    }
  }

  bool is_header() const {
    for (const std::string_view token : tokens_) {
      if (number_in(token)) return false;
    }
    return true;
  }

  [[noreturn]] void fail_token(std::string_view token) {
    fail(ErrorCode::malformed_input, "'{}' line {}: '{}' is not a number that float64 holds; mend the line{}",
         input_.name, line_number_, shown(token), looks_like(input_.bytes, input_.format).text);
  }

  const Input& input_;
  std::vector<std::string_view> tokens_;
  std::vector<double> values_;
  std::size_t cols_ = 0;
  std::size_t line_number_ = 0;
  bool seen_first_ = false;
};

Decoded read_text(const Input& input) {
  TextParser parser(input);
  parser.parse();
  if (parser.cols() == 0) {
    fail(ErrorCode::malformed_input, "'{}': no line with numbers; wanted rows of numbers{}", input.name,
         looks_like(input.bytes, input.format).text);
  }
  auto values = std::make_shared<const std::vector<double>>(std::move(parser.values()));
  const auto cols = static_cast<Index>(parser.cols());
  const Index rows = static_cast<Index>(values->size()) / cols;
  return {take_range(input, dense(values->data(), rows, cols)), rows, values};
}

constexpr Format kFormats[] = {
    {.name = "csv", .suffixes = {".csv", ".txt"}, .read = read_text},
};

}  // namespace

std::span<const Format> text_formats() noexcept { return kFormats; }

}  // namespace tessera::io
