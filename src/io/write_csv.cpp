// SPDX-License-Identifier: Apache-2.0
// One neighbour a line: query (row number from 0), rank (from 1), id, distance in the fewest digits that read back
// equal.
#include <iterator>

#include <fmt/format.h>

#include "io/writer.hpp"

namespace tessera::io {

namespace {

void append_line(std::string& out, const Neighbours& neighbours, std::size_t query, std::size_t rank) {
  const std::size_t at = query * static_cast<std::size_t>(neighbours.k) + rank;
  fmt::format_to(std::back_inserter(out), "{},{},{},", query, rank + 1, neighbours.ids[at]);
  if (neighbours.distances64.empty()) {
    fmt::format_to(std::back_inserter(out), "{}\n", neighbours.distances[at]);
  } else {
    fmt::format_to(std::back_inserter(out), "{}\n", neighbours.distances64[at]);
  }
}

void write_csv(TempFile& out, const Neighbours& neighbours, const WriteOptions&) {
  std::string text = "query,rank,id,distance\n";
  for (std::size_t query = 0; query < static_cast<std::size_t>(neighbours.rows); ++query) {
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(neighbours.k); ++rank) {
      append_line(text, neighbours, query, rank);
    }
    out.append(as_bytes(text));
    text.clear();
  }
  out.append(as_bytes(text));
}

constexpr Writer kWriter{.name = "csv", .suffix = ".csv", .write = write_csv};

}  // namespace

const Writer& csv_writer() noexcept { return kWriter; }

}  // namespace tessera::io
