// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "io/bytes.hpp"
#include "tessera/io.hpp"

namespace tessera::io {

/// big-ann-benchmarks and DiskANN ground truth: u32 nq, u32 k, nq*k int32 ids (all ones: missing), then nq*k float32
/// distances or nothing.
/// throws   Error{malformed_input}: a size that neither form has, with what is there.
NeighbourLists read_truth_bin(Bytes bytes, const std::string& name);

}  // namespace tessera::io
