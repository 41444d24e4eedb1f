// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/temp_file.hpp"
#include "tessera/graph.hpp"

namespace tessera::graph {

void write_edges(io::TempFile& out, const CsrGraph& graph);
/// throws   Error{invalid_argument}: not symmetric, or weights that METIS has no form for.
void write_metis(io::TempFile& out, const CsrGraph& graph);

}  // namespace tessera::graph
