// SPDX-License-Identifier: Apache-2.0
// Here: which base rows may be returned, as flags and the files they name. Not here: the filter itself (tessera/options.hpp).
#pragma once

#include <string>

#include "flags.hpp"
#include "tessera/io.hpp"
#include "tessera/options.hpp"

namespace tessera::cli {

struct FilterArgs {
  std::string allow;
  std::string deny;
};
void add_filter_options(Flags& flags, FilterArgs& args);

/// Throws Error{invalid_argument} where both flags are given.
void check_filter(const FilterArgs& args);

/// Reads the file that --allow or --deny names. 8-bit elements are a mask, one for each row of the base's file; others are ids,
/// the file's row numbers. Of a slice of the base, those outside it mean nothing.
/// throws   Error{malformed_input} naming the entry that is no row of the file, or a mask of another length.
RowFilter read_filter(const FilterArgs& args, const RowFile& base);

}  // namespace tessera::cli
