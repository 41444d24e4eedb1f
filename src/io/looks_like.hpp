// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "io/bytes.hpp"

namespace tessera::io {

/// A guess at what a file that does not fit its format is instead.
struct Guess {
  std::string text;   // "; it looks like ...", to append to a message; "" without a guess
  bool sure = false;  // a magic number or many agreeing rows, not only a size that fits
};

/// Guesses from the bytes; `format` is the one already ruled out.
Guess looks_like(Bytes bytes, std::string_view format);

}  // namespace tessera::io
