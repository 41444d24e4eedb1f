// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/export.hpp"
#include "tessera/knn.hpp"
#include "tessera/metric.hpp"
#include "tessera/options.hpp"
#include "tessera/result.hpp"
#include "tessera/rows.hpp"

namespace tessera {

/// Which directed edges of a kNN graph stay, and which are added.
enum class Symmetrize : std::uint8_t {
  none,    ///< i -> j where j is one of i's neighbours
  union_,  ///< both directions where at least one was there
  mutual   ///< both directions where both were there
};

/// What an edge carries.
enum class EdgeWeights : std::uint8_t {
  distance,      ///< the reported distance; for inner_product the product
  connectivity,  ///< 1
  heat,          ///< exp(-d^2 / (2 sigma^2))
  jaccard        ///< shared neighbours / all neighbours of the two rows, neither counting as its own
};

TESSERA_API std::string_view name_of(Symmetrize symmetrize) noexcept;
TESSERA_API std::optional<Symmetrize> parse_symmetrize(std::string_view name) noexcept;
TESSERA_API std::string_view name_of(EdgeWeights weights) noexcept;
TESSERA_API std::optional<EdgeWeights> parse_edge_weights(std::string_view name) noexcept;

/// The k nearest other rows of every row of one set.
///
/// base     [n, d], as knn().
/// options  SelfMode::none means exclude here; all else as knn().
/// returns  ids [n, k], distances [n, k], ascending by (key, id).
/// cost     and errors as knn(base, base, k, options).
TESSERA_API Neighbours knn_graph(const RowSet& base, Index k, const KnnOptions& options = {});

/// A sparse matrix [rows, rows] by rows: what SciPy calls CSR.
struct CsrGraph {
  Index rows = 0;
  std::vector<std::int64_t> indptr;   // [rows + 1]
  std::vector<std::int64_t> indices;  // [indptr.back()], row positions from 0
  std::vector<double> weights;        // [indptr.back()]; zeros are kept: a duplicate is a neighbour too
  bool float64 = false;               // written as float64; else float32, which then holds every distance exactly
  bool symmetric = false;
};

struct GraphOptions {
  Symmetrize symmetrize = Symmetrize::none;
  EdgeWeights weights = EdgeWeights::distance;
  double sigma = 0;      ///< heat: 0 takes the lower median of the rows' last distances
  Index first_id = 0;    ///< the id of row 0 in `lists`: RowSet::first_id of what was searched
  Metric metric{};       ///< heat: what the distances are
};

/// Makes a sparse matrix of neighbour lists of a set against itself; padding is left out.
///
/// lists    ids [n, k] in [first_id, first_id + n).
/// returns  rows in the order of the lists (ascending by distance) for Symmetrize::none, else ascending by index.
/// cost     O(n*k*log k) time; 16 bytes an edge, three times that while it is symmetrised.
/// throws   Error{invalid_argument}: an id out of range, a negative sigma, heat of inner_product.
TESSERA_API CsrGraph csr_graph(const Neighbours& lists, const GraphOptions& options = {});

/// Connected components when every edge is walked both ways; a row without edges is one of its own.
struct GraphComponents {
  Index components = 0;
  Index largest = 0;   // rows in the largest
  Index isolated = 0;  // rows without an edge to another row
};
TESSERA_API GraphComponents connected_components(const CsrGraph& graph);

/// Rows whose elements all equal those of an earlier row (-0 equals 0; rows with NaN equal none). Compared, not hashed alone.
/// distributions  rows are those of the metric wasserstein: equal ones have the same samples and weights, in any order.
TESSERA_API Index count_duplicate_rows(const RowSet& rows, bool distributions = false);

/// How a graph is laid out in a file.
enum class GraphFormat : std::uint8_t {
  csr_npz,   ///< members data, indices, indptr, format, shape: scipy.sparse.load_npz
  pyg_npz,   ///< members edge_index [2, edges] int64 (neighbour -> row), edge_weight [edges], num_nodes
  edges,     ///< text: "row neighbour weight"; a symmetric graph's edges once
  metis      ///< text: METIS and its kin; symmetric, without loops; weights 1 or whole numbers up to 10^6
};

/// The format a suffix stands for (".npz", ".edges", ".metis" or ".graph"); empty for others.
TESSERA_API std::optional<GraphFormat> graph_format_of(std::string_view path) noexcept;

/// Writes a graph under a temporary name, then renames it.
/// throws   Error{invalid_argument}: the file exists and `overwrite` is false; a graph METIS has no form for.
TESSERA_API void write_graph(const std::string& path, const CsrGraph& graph, GraphFormat format, bool overwrite = false);

}  // namespace tessera
