// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <vector>

#include "engine/run.hpp"
#include "engine/transpose.hpp"
#include "support/aligned_buffer.hpp"

namespace tessera::engine {
namespace {

using core::Range;

Range tile_range(Index tile, Index size, Index all) noexcept { return {tile * size, std::min(all, (tile + 1) * size)}; }

template <class T>
void turn(const std::byte* in, Index rows, Index cols, std::byte* out) noexcept {
  transpose(reinterpret_cast<const T*>(in), cols, rows, cols, reinterpret_cast<T*>(out), rows);
}

/// out [cols, rows] = in [rows, cols].
void turn(const std::byte* in, Index rows, Index cols, std::size_t itemsize, std::byte* out) noexcept {
  switch (itemsize) {
    case 2: return turn<std::uint16_t>(in, rows, cols, out);
    case 4: return turn<float>(in, rows, cols, out);
    default: return turn<double>(in, rows, cols, out);
  }
}

/// One worker and the tiles it fills.
struct Hand {
  std::unique_ptr<core::ValuesWorker> worker;
  support::AlignedBuffer<std::byte> tile;
  support::AlignedBuffer<std::byte> mirror;
};

/// The tiles of one segment, in the order of the file.
class Walk {
 public:
  Walk(const core::ValuesPlan& plan, Range units, Range batches, Range cols)
      : grid_(plan.grid), mirrored_(plan.mirrored), units_(units), batches_(batches),
        col_tiles_{cols.first / std::max<Index>(grid_.tile_cols, 1), (cols.last + grid_.tile_cols - 1) / std::max<Index>(grid_.tile_cols, 1)} {}

  Index steps() const noexcept { return batches_.size() * grid_.row_tiles() * col_tiles_.size(); }

  struct Step {
    Index batch, row_tile, col_tile;
  };
  Step at(Index step) const noexcept {
    const Index row = step / col_tiles_.size();
    return {batches_.first + row / grid_.row_tiles(), row % grid_.row_tiles(), col_tiles_.first + step % col_tiles_.size()};
  }
  /// Whether this call computes that tile at all: its shard's, and not the mirror image of another.
  bool ours(const Step& s) const noexcept {
    const Index unit = s.batch * grid_.row_tiles() + s.row_tile;
    return unit >= units_.first && unit < units_.last && !(mirrored_ && s.col_tile < s.row_tile);
  }
  bool has_mirror(const Step& s) const noexcept { return mirrored_ && s.col_tile != s.row_tile; }
  Index number(const Step& s) const noexcept { return (s.batch * grid_.row_tiles() + s.row_tile) * grid_.col_tiles() + s.col_tile; }
  Step mirror(const Step& s) const noexcept { return {s.batch, s.col_tile, s.row_tile}; }
  core::Tile tile(const Step& s) const noexcept {
    return {tile_range(s.row_tile, grid_.tile_rows, grid_.shape.rows), tile_range(s.col_tile, grid_.tile_cols, grid_.shape.cols), s.batch};
  }

 private:
  const TileGrid& grid_;
  bool mirrored_;
  Range units_;
  Range batches_;
  Range col_tiles_;
};

ValueTile value_tile(Index number, const core::Tile& tile, const std::byte* values) noexcept {
  return {.tile = number,
          .batch = tile.batch,
          .first_row = tile.rows.first,
          .rows = tile.rows.size(),
          .first_col = tile.cols.first,
          .cols = tile.cols.size(),
          .values = values};
}

}  // namespace

ValuesTotals run_values(const core::PreparedValues& prepared, const core::ValuesSegment& segment, const core::ValuesPlan& plan, Range units,
                        Range batches, Range cols, DistanceSink& sink, core::Executor& executor, Control& control) {
  const Walk walk(plan, units, batches, cols);
  const std::size_t itemsize = size_of(plan.grid.shape.dtype);
  const auto tile_bytes = static_cast<std::size_t>(plan.grid.tile_rows * plan.grid.tile_cols) * itemsize;
  std::vector<Hand> hands(static_cast<std::size_t>(executor.threads()));
  std::atomic<Index> next{0};
  std::atomic<Index> done{0};
  std::atomic<Index> skipped{0};
  std::atomic<double> bytes{0};

  const auto put = [&](const core::Tile& tile, Index number, const std::byte* values) {
    sink.put(value_tile(number, tile, values));
    const auto size = static_cast<double>(tile.rows.size() * tile.cols.size()) * static_cast<double>(itemsize);
    bytes.fetch_add(size);
    done.fetch_add(1);
    control.advance(size);
  };
  // Workers take the next tile of the file, so that writes run on in order.
  executor.run(executor.threads(), [&](Index, int number) {
    Hand& hand = hands[static_cast<std::size_t>(number)];
    try {
      for (Index at = next.fetch_add(1); at < walk.steps(); at = next.fetch_add(1)) {
        const Walk::Step step = walk.at(at);
        if (!walk.ours(step)) continue;
        const Walk::Step twin = walk.mirror(step);
        const bool wanted = sink.wanted(walk.number(step));
        const bool twin_wanted = walk.has_mirror(step) && sink.wanted(walk.number(twin));
        skipped.fetch_add((wanted ? 0 : 1) + (walk.has_mirror(step) && !twin_wanted ? 1 : 0));
        if (!wanted && !twin_wanted) continue;
        if (!hand.worker) {
          hand.worker = prepared.worker(segment, plan.grid.tile_rows);
          hand.tile = support::AlignedBuffer<std::byte>(tile_bytes);
          if (plan.mirrored) hand.mirror = support::AlignedBuffer<std::byte>(tile_bytes);
        }
        const core::Tile tile = walk.tile(step);
        control.check();
        hand.worker->evaluate(tile, hand.tile.data());
        if (wanted) put(tile, walk.number(step), hand.tile.data());
        if (twin_wanted) {
          turn(hand.tile.data(), tile.rows.size(), tile.cols.size(), itemsize, hand.mirror.data());
          put(walk.tile(twin), walk.number(twin), hand.mirror.data());
        }
      }
    } catch (...) {
      next.store(walk.steps());
      throw;
    }
  });

  ValuesTotals totals{.tiles = done, .skipped = skipped, .bytes = bytes, .counts = {}};
  for (const Hand& hand : hands) {
    if (!hand.worker) continue;
    totals.counts.directly += hand.worker->counts().directly;
    totals.counts.canonically += hand.worker->counts().canonically;
  }
  return totals;
}

}  // namespace tessera::engine
