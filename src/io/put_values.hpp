// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "io/byte_sink.hpp"
#include "tessera/io.hpp"

namespace tessera::io {

/// Appends `values` converted to T, little-endian. The caller knows that T holds them.
template <class T, class Source>
void put_values(ByteSink& out, std::span<const Source> values) {
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  static_assert(sizeof(T) == sizeof(Word));
  constexpr std::size_t kChunk = 8192;  // 32 or 64 KiB: stays in a core's cache
  std::vector<std::byte> chunk(std::min(kChunk, values.size()) * sizeof(T));
  while (!values.empty()) {
    const std::size_t count = std::min(kChunk, values.size());
    std::byte* p = chunk.data();
    for (const Source value : values.first(count)) {
      const Word word = std::bit_cast<Word>(static_cast<T>(value));
      for (std::size_t i = 0; i < sizeof(Word); ++i) *p++ = static_cast<std::byte>(word >> (8 * i) & 0xff);
    }
    out.append(Bytes(chunk).first(count * sizeof(T)));
    values = values.subspan(count);
  }
}

/// Distances as T, from whichever width the lists hold.
template <class T>
void put_distances(ByteSink& out, const Neighbours& neighbours) {
  if (neighbours.distances64.empty()) {
    put_values<T>(out, std::span(neighbours.distances));
  } else {
    put_values<T>(out, std::span(neighbours.distances64));
  }
}

}  // namespace tessera::io
