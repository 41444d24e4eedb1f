// SPDX-License-Identifier: Apache-2.0
// Here: an HNSW index whose lowest level comes from a kNN graph instead of one search a row. Not here: reading rows, other indices.
#pragma once

#include <faiss/IndexHNSW.h>

#include <span>

#include "tessera/rows.hpp"

namespace tessera::ann {

/// Fills an empty, trained index. The levels above the lowest, about a row in M, are linked as FAISS links them; the lowest has the lists that FAISS's
/// own rule for diverse neighbours picks out of the graph's, either way round: a link leads back only if both ends may have it.
/// x      [rows, d]
/// ids    [rows, k] nearest first; -1: no further one
/// cost   one distance for each pair of the graph, and FAISS's for a row in M
void add_with_graph(faiss::IndexHNSW& index, Index rows, const float* x, std::span<const faiss::Index::idx_t> ids, Index k);

}  // namespace tessera::ann
