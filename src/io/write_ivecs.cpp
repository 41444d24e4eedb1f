// SPDX-License-Identifier: Apache-2.0
// Ids in TEXMEX form: every row is an int32 k, then k int32 ids.
#include <limits>

#include "io/put_values.hpp"
#include "io/writer.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

void write_ivecs(TempFile& out, const Neighbours& neighbours, const WriteOptions&) {
  constexpr Index kMax = std::numeric_limits<std::int32_t>::max();
  if (neighbours.k > kMax) {
    support::fail(ErrorCode::invalid_argument, "k = {}: .ivecs holds k up to {}; write .npz instead", neighbours.k,
                  kMax);
  }
  std::string k;
  append_le<std::uint32_t>(k, static_cast<std::uint32_t>(neighbours.k));
  const std::span<const std::int64_t> ids(neighbours.ids);
  const auto row = static_cast<std::size_t>(neighbours.k);
  for (std::size_t at = 0; at < ids.size(); at += row) {
    out.append(as_bytes(k));
    put_values<std::int32_t>(out, ids.subspan(at, row));
  }
}

constexpr Writer kWriter{
    .name = "ivecs", .suffix = ".ivecs", .int32_only = true, .distances = false, .write = write_ivecs};

}  // namespace

const Writer& ivecs_writer() noexcept { return kWriter; }

}  // namespace tessera::io
