// SPDX-License-Identifier: Apache-2.0
#include "graph/write_graph.hpp"

#include <algorithm>
#include <limits>

#include "graph/csr.hpp"
#include "io/format.hpp"
#include "io/npy_array.hpp"
#include "io/output_path.hpp"
#include "io/put_values.hpp"
#include "io/zip_writer.hpp"

namespace tessera {
namespace graph {
namespace {

using io::ZipWriter;
using Shape = std::vector<Index>;

/// One member: its name, numpy's word for its type, its shape, its values.
template <class T, class Source>
void put_member(ZipWriter& zip, const char* name, const char* descr, const Shape& shape, std::span<const Source> values) {
  const std::string header = io::npy_header(descr, shape);
  zip.begin(name, header.size() + values.size() * sizeof(T));
  zip.append(io::as_bytes(header));
  io::put_values<T>(zip, values);
  zip.end();
}

void put_index_member(ZipWriter& zip, const char* name, bool narrow, std::span<const std::int64_t> values) {
  const Shape shape = {std::ssize(values)};
  narrow ? put_member<std::int32_t>(zip, name, "<i4", shape, values) : put_member<std::int64_t>(zip, name, "<i8", shape, values);
}

void put_weights(ZipWriter& zip, const char* name, const CsrGraph& graph) {
  const std::span<const double> values(graph.weights);
  const Shape shape = {std::ssize(values)};
  graph.float64 ? put_member<double>(zip, name, "<f8", shape, values) : put_member<float>(zip, name, "<f4", shape, values);
}

/// scipy.sparse.save_npz's members: index arrays of one type, int32 while rows and edges fit (SciPy's get_index_dtype).
void write_csr(io::TempFile& out, const CsrGraph& graph) {
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  const bool narrow = graph.rows <= kMost && std::ssize(graph.indices) <= kMost;
  ZipWriter zip(out);
  put_index_member(zip, "indices.npy", narrow, graph.indices);
  put_index_member(zip, "indptr.npy", narrow, graph.indptr);
  const std::string header = io::npy_header("|S3", Shape{});
  zip.begin("format.npy", header.size() + 3);
  zip.append(io::as_bytes(header));
  zip.append(io::as_bytes("csr"));
  zip.end();
  const std::int64_t shape[2] = {graph.rows, graph.rows};
  put_member<std::int64_t>(zip, "shape.npy", "<i8", {2}, std::span<const std::int64_t>(shape));
  put_weights(zip, "data.npy", graph);
  zip.finish();
}

/// PyTorch Geometric's flow is source to target: messages go from a neighbour to the row whose list names it.
void write_pyg(io::TempFile& out, const CsrGraph& graph) {
  std::vector<std::int64_t> targets;
  targets.reserve(graph.indices.size());
  for (Index row = 0; row < graph.rows; ++row) targets.insert(targets.end(), row_indices(graph, row).size(), row);
  const Index edges = std::ssize(graph.indices);
  ZipWriter zip(out);
  const std::string header = io::npy_header("<i8", Shape{2, edges});
  zip.begin("edge_index.npy", header.size() + 16 * static_cast<std::uint64_t>(edges));
  zip.append(io::as_bytes(header));
  io::put_values<std::int64_t>(zip, std::span<const std::int64_t>(graph.indices));
  io::put_values<std::int64_t>(zip, std::span<const std::int64_t>(targets));
  zip.end();
  put_weights(zip, "edge_weight.npy", graph);
  const std::int64_t nodes[1] = {graph.rows};
  put_member<std::int64_t>(zip, "num_nodes.npy", "<i8", {}, std::span<const std::int64_t>(nodes));
  zip.finish();
}

}  // namespace
}  // namespace graph

std::optional<GraphFormat> graph_format_of(std::string_view path) noexcept {
  const std::string name = io::lower(path);
  if (name.ends_with(".npz")) return GraphFormat::csr_npz;
  if (name.ends_with(".edges")) return GraphFormat::edges;
  if (name.ends_with(".metis") || name.ends_with(".graph")) return GraphFormat::metis;
  return std::nullopt;
}

void write_graph(const std::string& path, const CsrGraph& graph, GraphFormat format, bool overwrite) {
  io::check_output_path(path, overwrite);
  io::TempFile out(path);
  switch (format) {
    case GraphFormat::csr_npz: graph::write_csr(out, graph); break;
    case GraphFormat::pyg_npz: graph::write_pyg(out, graph); break;
    case GraphFormat::edges: graph::write_edges(out, graph); break;
    case GraphFormat::metis: graph::write_metis(out, graph); break;
  }
  out.commit(overwrite);
}

}  // namespace tessera
