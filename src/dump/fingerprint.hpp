// SPDX-License-Identifier: Apache-2.0
// Here: what makes two dumps the same dump, as JSON text. Not here: where it is kept (journal).
#pragma once

#include <string>

#include "dump/layout.hpp"
#include "tessera/dump.hpp"

namespace tessera::dump {

/// Everything that decides a byte of the file.
struct Identity {
  std::string format;
  std::string compress;
  Layout layout;
  TileGrid grid;
};

/// JSON: format, shape, tiles, metric with its parameters, dtype, and hashes of the inputs' content.
/// cost   one pass over the inputs.
std::string fingerprint(const Identity& identity, const RowSet& x, const RowSet* y, const DistanceOptions& options);

/// Tile sizes, layout and format that a fingerprint holds.
/// throws   Error{malformed_input}.
Identity parse_fingerprint(const std::string& text, const std::string& path);

/// "metric l2, now cosine": the first thing that differs; empty when nothing does.
std::string difference(const std::string& before, const std::string& now);

}  // namespace tessera::dump
