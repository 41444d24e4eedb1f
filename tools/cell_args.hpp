// SPDX-License-Identifier: Apache-2.0
// Here: flags about the space that points live in, and the cell they lead to. Not here: cells themselves (tessera/cell.hpp).
#pragma once

#include <optional>
#include <string>

#include "flags.hpp"
#include "tessera/io.hpp"
#include "tessera/metric.hpp"

namespace tessera::cli {

struct CellArgs {
  std::string cell;  // numbers, or a file of them
  std::string pbc;
  std::string frame;
};
void add_cell_options(Flags& flags, CellArgs& args);

/// The cell that --cell names; none without it. Checks --pbc, too.
/// throws   Error: invalid_argument (not a cell), io (a file that cannot be read), malformed_input (a file that holds none).
std::optional<Cell> cell_of(const CellArgs& args);

/// The frame that --frame asks for, 0 without it.
Index frame_of(const CellArgs& args);

/// Completes a metric that needs a cell: --cell comes first, else the base file's own; then --pbc.
///
/// other    the second input, or null; its cell may not differ from the base's unless --cell decides.
void complete_cell(MetricSpec& spec, const CellArgs& args, const RowFile& base, const RowFile* other);

}  // namespace tessera::cli
