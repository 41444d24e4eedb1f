// SPDX-License-Identifier: Apache-2.0
#include "dump/fingerprint.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/bytes.hpp"
#include "support/cpu.hpp"
#include "support/fail.hpp"

namespace tessera::dump {
namespace {

using Json = nlohmann::ordered_json;

// Raised whenever a value may come out with other bits than before, so that no file mixes two versions' values.
constexpr int kValuesVersion = 3;

/// 64 bits over 8-byte words by multiply and fold, as wyhash mixes, in four lanes that do not wait for each other. It guards against
/// changed inputs, not against intent.
class Hash {
 public:
  void add(const std::byte* p, std::size_t bytes) noexcept {
    std::uint64_t lanes[4] = {state_, state_ + 1, state_ + 2, state_ + 3};
    for (; bytes >= 32; bytes -= 32, p += 32) {
      for (int l = 0; l < 4; ++l) lanes[l] = mixed(lanes[l], load(p + 8 * l, 8));
    }
    for (const std::uint64_t lane : lanes) word(lane);
    for (; bytes >= 8; bytes -= 8, p += 8) word(load(p, 8));
    if (bytes > 0) word(load(p, bytes) ^ (std::uint64_t{bytes} << 56));
  }
  void word(std::uint64_t w) noexcept { state_ = mixed(state_, w); }
  std::uint64_t value() const noexcept { return state_; }
  std::string text() const { return fmt::format("{:016x}", state_); }

 private:
  static std::uint64_t mixed(std::uint64_t state, std::uint64_t w) noexcept {
    const auto product = static_cast<unsigned __int128>(state ^ w) * 0xA0761D6478BD642FULL;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ (w * 0xE7037ED1A0B428DBULL);
  }
  static std::uint64_t load(const std::byte* p, std::size_t bytes) noexcept {
    std::uint64_t w = 0;
    std::memcpy(&w, p, bytes);
    return w;
  }
  std::uint64_t state_ = 0x8EBC6AF09C88C6E3ULL;
};

std::uint64_t hash_of(const RowSet& rows, Index first, Index last) noexcept {
  Hash hash;
  const auto add = [&](const std::byte* p, DType dtype, Index count, Index stride) {
    const std::size_t item = size_of(dtype);
    if (stride == static_cast<Index>(item)) return hash.add(p, static_cast<std::size_t>(count) * item);
    for (Index t = 0; t < count; ++t) hash.add(p + t * stride, item);
  };
  const Weights& w = rows.weights;
  for (Index i = first; i < last; ++i) {
    if (rows.offsets != nullptr) hash.word(static_cast<std::uint64_t>(rows.length(i)));
    add(rows.row(i), rows.dtype, rows.length(i), rows.col_stride);
    if (w.data != nullptr) add(rows.weights_of(i), w.dtype, rows.length(i), w.col_stride);
  }
  return hash.value();
}

/// The hash of the blocks' hashes: blocks of a fixed size, so that any number of threads gives the same.
std::string hash_of(const RowSet& rows, int threads) {
  const auto row_bytes = static_cast<Index>(size_of(rows.dtype)) * std::max<Index>(rows.cols, 1);
  const Index block = std::max<Index>(1, (Index{1} << 20) / row_bytes);
  std::vector<std::uint64_t> blocks(static_cast<std::size_t>((rows.rows + block - 1) / block));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t b = next.fetch_add(1); b < blocks.size(); b = next.fetch_add(1)) {
      const Index first = static_cast<Index>(b) * block;
      blocks[b] = hash_of(rows, first, std::min(rows.rows, first + block));
    }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads && static_cast<std::size_t>(t) < blocks.size(); ++t) others.emplace_back(work);
    work();
  }
  Hash hash;
  hash.word(static_cast<std::uint64_t>(rows.dtype));
  hash.word(static_cast<std::uint64_t>(rows.rows));
  hash.word(static_cast<std::uint64_t>(rows.cols));
  hash.word(rows.byte_swapped ? 1 : 0);
  if (const Weights& w = rows.weights; w.data != nullptr) hash.word(static_cast<std::uint64_t>(w.dtype) * 2 + (w.byte_swapped ? 1 : 0));
  for (const std::uint64_t b : blocks) hash.word(b);
  return hash.text();
}

std::string hash_of(const std::vector<Index>& numbers) {
  Hash hash;
  for (const Index n : numbers) hash.word(static_cast<std::uint64_t>(n));
  return numbers.empty() ? "" : hash.text();
}

}  // namespace

std::string fingerprint(const Identity& id, const RowSet& x, const RowSet* y, const DistanceOptions& options) {
  const MatrixShape& m = id.layout.matrix;
  Json json;
  json["format"] = id.format;
  json["compress"] = id.compress;
  json["metric"] = std::string(name_of(options.metric.metric));
  if (const auto& cell = options.metric.cell) {
    json["cell"] = cell->rows;
    json["pbc"] = cell->pbc;
  }
  if (options.metric.metric == Metric::wasserstein) json["p"] = fmt::format("{}", options.metric.p);
  json["dtype"] = std::string(name_of(m.dtype));
  json["exact"] = options.exact;
  json["batches"] = m.batches;
  json["rows"] = m.rows;
  json["cols"] = m.cols;
  json["self"] = m.self;
  json["condensed"] = id.layout.condensed;
  json["shape"] = id.layout.shape;
  json["tile_rows"] = id.grid.tile_rows;
  json["tile_cols"] = id.grid.tile_cols;
  const int threads = options.threads > 0 ? options.threads : support::usable_cores();
  json["content of the rows"] = hash_of(x, threads);
  json["content of the columns"] = y != nullptr ? hash_of(*y, threads) : "";
  json["lengths"] = hash_of(options.lengths);
  json["version of the values"] = kValuesVersion;
  return json.dump();
}

Identity parse_fingerprint(const std::string& text, const std::string& path) {
  try {
    const Json json = Json::parse(text);
    Identity id;
    id.format = json.at("format");
    id.compress = json.at("compress");
    const auto dtype = parse_dtype(json.at("dtype").get<std::string>());
    id.layout.matrix = {.batches = json.at("batches"), .rows = json.at("rows"), .cols = json.at("cols"), .self = json.at("self"),
                        .dtype = dtype.value_or(DType::f32)};
    id.layout.condensed = json.at("condensed");
    id.layout.shape = json.at("shape").get<std::vector<Index>>();
    id.grid = {.shape = id.layout.matrix, .tile_rows = json.at("tile_rows"), .tile_cols = json.at("tile_cols")};
    const MatrixShape& m = id.layout.matrix;
    const bool sane = dtype && m.batches >= 1 && m.rows >= 0 && m.cols >= 0 && id.grid.tile_rows >= 0 && id.grid.tile_cols >= 0 &&
                      (m.rows == 0 || m.cols == 0 || (id.grid.tile_rows > 0 && id.grid.tile_cols > 0));
    if (sane) return id;
  } catch (const Json::exception&) {
    // Falls through to the one message.
  }
  support::fail(ErrorCode::malformed_input, "the journal of '{}' is broken: start again with --force", path);
}

std::string difference(const std::string& before, const std::string& now) {
  const Json a = Json::parse(before, nullptr, false);
  const Json b = Json::parse(now, nullptr, false);
  if (a.is_discarded()) return "its journal is broken";
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) return fmt::format("{} is new", key);
    if (a[key] != value) return fmt::format("{} was {}, now {}", key, a[key].dump(), value.dump());
  }
  return "";
}

}  // namespace tessera::dump
