// SPDX-License-Identifier: Apache-2.0
#include "io/truth_bin.hpp"

#include <bit>

#include "io/looks_like.hpp"
#include "support/fail.hpp"

namespace tessera::io {
namespace {

constexpr std::uint64_t kHeader = 8;

[[noreturn]] void fail_size(Bytes bytes, const std::string& name, std::uint64_t nq, std::uint64_t k) {
  const std::uint64_t whole = bytes.size() > kHeader && k > 0 ? (bytes.size() - kHeader) / (8 * k) : 0;
  support::fail(ErrorCode::malformed_input,
                "'{}' is no ground truth: {} lists of {} need {} bytes (ids and distances) or {} (ids only), the file has {}: "
                "{} whole lists at most; fetch it again, or check what it is{}",
                name, nq, k, kHeader + 8 * nq * k, kHeader + 4 * nq * k, bytes.size(), whole, looks_like(bytes, "ibin").text);
}

}  // namespace

NeighbourLists read_truth_bin(Bytes bytes, const std::string& name) {
  if (bytes.size() < kHeader) {
    support::fail(ErrorCode::malformed_input, "'{}' is truncated: a ground truth header is {} bytes, the file has {}", name, kHeader,
                  bytes.size());
  }
  const std::uint64_t nq = load_le<std::uint32_t>(bytes.data());
  const std::uint64_t k = load_le<std::uint32_t>(bytes.data() + 4);
  const std::uint64_t count = nq * k;  // below 2^64
  const bool fits = count <= bytes.size() / 4;
  const bool pairs = fits && bytes.size() == kHeader + 8 * count;
  const bool ids_only = fits && bytes.size() == kHeader + 4 * count;
  if (!pairs && !ids_only) fail_size(bytes, name, nq, k);
  NeighbourLists lists;
  lists.rows = static_cast<Index>(nq);
  lists.k = static_cast<Index>(k);
  lists.ids.reserve(count);
  const std::byte* p = bytes.data() + kHeader;
  for (std::uint64_t i = 0; i < count; ++i, p += 4) {
    const auto id = load_le<std::uint32_t>(p);  // u32 past 2^31 also occurs; all ones is -1
    lists.ids.push_back(id == 0xffffffffU ? -1 : static_cast<std::int64_t>(id));
  }
  if (ids_only) return lists;
  lists.distances.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i, p += 4) {
    lists.distances.push_back(static_cast<double>(std::bit_cast<float>(load_le<std::uint32_t>(p))));
  }
  return lists;
}

}  // namespace tessera::io
