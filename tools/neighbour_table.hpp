// SPDX-License-Identifier: Apache-2.0
// Here: neighbour lists as text on stdout. Not here: files (tessera/io.hpp writes them).
#pragma once

#include "tessera/result.hpp"

namespace tessera::cli {

/// Prints every neighbour: a header, then "query rank id distance" a line, separated by tabs; rank counts from 1.
///
/// first_query  id of the first query: a slice keeps its file's row numbers.
/// Distances are the shortest decimals that read back as the same number.
void print_neighbours(const Neighbours& neighbours, Index first_query);

/// Prints the first rows and columns, aligned, for a look.
void print_preview(const Neighbours& neighbours, Index first_query);

}  // namespace tessera::cli
