// SPDX-License-Identifier: Apache-2.0
// Here: what every reader is given and what it hands back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/bytes.hpp"
#include "tessera/cell.hpp"
#include "tessera/io.hpp"

namespace tessera::io {

/// The whole content of a file, and what was asked of it. A reader knows nothing of paths or mappings.
struct Input {
  Bytes bytes;
  std::string name;         // what messages call it
  std::string member;       // NAME of FILE:NAME, or ""
  std::string_view format;  // the reader's own name: "fbin"
  Index first_row = 0;      // rows [first_row, last_row)
  Index last_row = -1;      // -1: to the end
  RowRole role = RowRole::base;
  bool batched = false;     // [B, n, d] is wanted, as B * n rows
  Index frame = 0;          // of files that hold several
};

/// Rows, viewing either Input::bytes (owner is null) or memory that `owner` keeps.
struct Decoded {
  RowSet rows;  // the rows asked for
  Index file_rows = 0;
  std::shared_ptr<const void> owner;
  Index batches = 0;  // B of an array [B, n, d]
  std::optional<Cell> cell{};  // files of atoms
  bool views_input = false;  // rows view Input::bytes although there is an owner
};

}  // namespace tessera::io
