// SPDX-License-Identifier: Apache-2.0
#include "neighbour_table.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "report.hpp"

namespace tessera::cli {
namespace {

constexpr Index kPreviewRows = 5;
constexpr Index kPreviewCols = 5;             // five columns of 22 characters fit a terminal of 120
constexpr std::size_t kFlushBytes = 1 << 16;  // chosen: a write per 64 KiB of text

bool has_float64(const Neighbours& neighbours) noexcept { return !neighbours.distances64.empty(); }

}  // namespace

void print_neighbours(const Neighbours& neighbours, Index first_query) {
  std::string text = "query\trank\tid\tdistance\n";
  const bool wide = has_float64(neighbours);
  for (Index q = 0; q < neighbours.rows; ++q) {
    for (Index rank = 0; rank < neighbours.k; ++rank) {
      const auto at = static_cast<std::size_t>(q * neighbours.k + rank);
      auto out = std::back_inserter(text);
      fmt::format_to(out, "{}\t{}\t{}\t", first_query + q, rank + 1, neighbours.ids[at]);
      if (wide) {
        fmt::format_to(out, "{}\n", neighbours.distances64[at]);
      } else {
        fmt::format_to(out, "{}\n", neighbours.distances[at]);
      }
    }
    if (text.size() >= kFlushBytes) {
      fmt::print("{}", text);
      text.clear();
    }
  }
  fmt::print("{}", text);
}

void print_preview(const Neighbours& neighbours, Index first_query) {
  const Index rows = std::min(neighbours.rows, kPreviewRows);
  const Index cols = std::min(neighbours.k, kPreviewCols);
  if (rows == 0) return;
  std::string text = fmt::format("{:>10}  nearest: id (distance)\n", "query");
  for (Index q = 0; q < rows; ++q) {
    text += fmt::format("{:>10}", first_query + q);
    for (Index rank = 0; rank < cols; ++rank) {
      const auto at = static_cast<std::size_t>(q * neighbours.k + rank);
      const double distance =
          has_float64(neighbours) ? neighbours.distances64[at] : static_cast<double>(neighbours.distances[at]);
      text += fmt::format("  {:<20}", fmt::format("{} ({:.6g})", neighbours.ids[at], distance));
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += neighbours.k > cols ? " ...\n" : "\n";
  }
  if (neighbours.rows > rows) text += fmt::format("{:>10}  {} more rows\n", "...", grouped(neighbours.rows - rows));
  fmt::print("{}", text);
}

}  // namespace tessera::cli
