// SPDX-License-Identifier: Apache-2.0
// big-ann-benchmarks ground truth: u32 nq, u32 k, nq·k int32 ids, nq·k float32 distances. A missing id (-1) is all
// ones.
#include <limits>

#include "io/put_values.hpp"
#include "io/writer.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

void write_ibin(TempFile& out, const Neighbours& neighbours, const WriteOptions&) {
  constexpr Index kMax = std::numeric_limits<std::uint32_t>::max();
  if (neighbours.rows > kMax || neighbours.k > kMax) {
    support::fail(ErrorCode::invalid_argument,
                  "{} lists of {}: an .ibin header holds counts up to {}; write .npz instead", neighbours.rows,
                  neighbours.k, kMax);
  }
  std::string header;
  append_le<std::uint32_t>(header, static_cast<std::uint32_t>(neighbours.rows));
  append_le<std::uint32_t>(header, static_cast<std::uint32_t>(neighbours.k));
  out.append(as_bytes(header));
  put_values<std::int32_t>(out, std::span(neighbours.ids));
  put_distances<float>(out, neighbours);
}

constexpr Writer kWriter{.name = "ibin", .suffix = ".ibin", .int32_only = true, .write = write_ibin};

}  // namespace

const Writer& ibin_writer() noexcept { return kWriter; }

}  // namespace tessera::io
