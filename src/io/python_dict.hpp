// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

/// Reads the few Python literals that .npy headers are made of, left to right. Every function skips blanks first.
/// Nothing is evaluated. Failures throw Error{malformed_input} naming the place.
class PythonReader {
 public:
  PythonReader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  bool take(char c);                   ///< consumes c if it is next
  void expect(char c);                 ///< consumes c or throws
  bool at_end();                       ///< nothing but blanks is left
  std::string string();                ///< 'x' or "x", without escapes
  std::string bracketed();             ///< [...], brackets inside it balanced, as text
  bool boolean();                      ///< True or False
  std::vector<std::uint64_t> tuple();  ///< (), (3,), (3, 4), also (3L, 4L) as Python 2 wrote them
  [[noreturn]] void fail_wanting(std::string_view what);

  char peek();  ///< the next character, '\0' at the end

 private:
  std::uint64_t number();

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
};

}  // namespace tessera::io
