// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "graph/csr.hpp"
#include "graph/write_graph.hpp"
#include "support/fail.hpp"

namespace tessera::graph {
namespace {

constexpr std::size_t kFlushBytes = 1 << 16;  // chosen: a write per 64 KiB of text
constexpr double kMetisScale = 1e6;           // METIS has whole weights: six digits of a weight in [0, 1]

class Text {
 public:
  explicit Text(io::TempFile& out) : out_(out) {}
  ~Text() = default;

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() >= kFlushBytes) flush();
  }
  void flush() {
    out_.append(io::as_bytes(text_));
    text_.clear();
  }

 private:
  io::TempFile& out_;
  std::string text_;
};

std::int64_t whole_weight(double weight) { return std::max<std::int64_t>(1, std::llround(weight * kMetisScale)); }

/// What makes a graph unfit for METIS, checked before a byte is written.
void check_metis(const CsrGraph& graph) {
  if (!graph.symmetric) {
    support::fail(ErrorCode::invalid_argument, "METIS graphs are undirected: symmetrize by union or mutual");
  }
  const bool similar = std::all_of(graph.weights.begin(), graph.weights.end(), [](double w) { return w >= 0 && w <= 1; });
  if (!similar) {
    support::fail(ErrorCode::invalid_argument,
                  "METIS weights grow with closeness, distances do not: use weights connectivity, heat or jaccard");
  }
}

}  // namespace

void write_edges(io::TempFile& out, const CsrGraph& graph) {
  Text text(out);
  std::size_t at = 0;
  for (Index row = 0; row < graph.rows; ++row) {
    for (const std::int64_t index : row_indices(graph, row)) {
      const double weight = graph.weights[at++];
      if (graph.symmetric && index < row) continue;
      if (graph.float64) {
        text.add("{} {} {}\n", row, index, weight);
      } else {
        text.add("{} {} {}\n", row, index, static_cast<float>(weight));
      }
    }
  }
  text.flush();
}

void write_metis(io::TempFile& out, const CsrGraph& graph) {
  check_metis(graph);
  Index ends = 0;  // of edges between two rows: each edge has two
  for (Index row = 0; row < graph.rows; ++row) {
    for (const std::int64_t index : row_indices(graph, row)) ends += index != row ? 1 : 0;
  }
  const bool weighted = std::any_of(graph.weights.begin(), graph.weights.end(), [](double w) { return w != 1; });
  Text text(out);
  text.add("{} {}{}\n", graph.rows, ends / 2, weighted ? " 001" : "");
  std::size_t at = 0;
  for (Index row = 0; row < graph.rows; ++row) {
    bool first = true;
    for (const std::int64_t index : row_indices(graph, row)) {
      const double weight = graph.weights[at++];
      if (index == row) continue;
      text.add("{}{}", first ? "" : " ", index + 1);  // METIS counts from 1
      if (weighted) text.add(" {}", whole_weight(weight));
      first = false;
    }
    text.add("\n");
  }
  text.flush();
}

}  // namespace tessera::graph
