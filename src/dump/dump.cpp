// SPDX-License-Identifier: Apache-2.0
// From options to a file: identity, journal, target, and the sink between the engine and them.
#include "tessera/dump.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "dump/fingerprint.hpp"
#include "dump/tile_writer.hpp"
#include "io/output_path.hpp"
#include "support/fail.hpp"

namespace tessera {
namespace dump {
namespace {

using support::fail;

std::vector<Index> shape_of(const MatrixShape& matrix, const DistanceOptions& options, const DumpOptions& dump) {
  if (dump.condensed) return {matrix.rows < 2 ? 0 : matrix.rows * (matrix.rows - 1) / 2};
  std::vector<Index> shape;
  if (options.batches > 1 || !options.lengths.empty() || dump.batched) shape.push_back(matrix.batches);
  const auto add = [&](const std::vector<Index>& grid, Index rows) {
    if (grid.empty()) {
      shape.push_back(rows);
    } else {
      shape.insert(shape.end(), grid.begin(), grid.end());
    }
  };
  add(dump.row_grid, matrix.rows);
  add(matrix.self && dump.col_grid.empty() ? dump.row_grid : dump.col_grid, matrix.cols);
  return shape;
}

/// Whether a tile's bytes are those that were marked. values: room for one.
bool intact(Target& target, const Journal& journal, const Layout& layout, ValueTile tile, std::vector<std::byte>& values) {
  if (!target.read(tile, values.data())) return false;
  tile.values = values.data();
  return checksum(layout, tile) == journal.crc(tile.tile);
}

/// Where no journal says that they are a dump's, files of these names are strangers': nothing overwrites them unasked.
void check_not_there(const std::string& path, const DumpOptions& dump) {
  if (dump.overwrite) return;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    fail(ErrorCode::invalid_argument, "'{}' exists and is no dump that could be resumed; use --force to overwrite it, or another name", path);
  }
  const std::string_view beside = target_format(path, dump.format).beside;
  const std::string also = path + std::string(beside);
  if (!beside.empty() && std::filesystem::exists(also, ignored)) {
    fail(ErrorCode::invalid_argument, "'{}', which would be written beside the dump, exists; use --force to overwrite it, or another name", also);
  }
}

/// The sink: the target's tiles as the journal knows them.
class DumpSink final : public DistanceSink {
 public:
  DumpSink(const std::string& path, const RowSet& x, const RowSet* y, const DistanceOptions& options, const DumpOptions& dump, DumpReport& report)
      : format_(target_format(path, dump.format)), path_(path), x_(x), y_(y), options_(options), dump_(dump), report_(report),
        journal_(path, options.shards > 1 ? Journal::Access::shared : Journal::Access::alone) {
    if (journal_.fingerprint().empty()) check_not_there(path, dump);
    if (joins() && !journal_.fingerprint().empty()) before_ = parse_fingerprint(journal_.fingerprint(), path);
  }

  void choose_tiles(TileGrid& grid) const override {
    if (before_) {
      grid.tile_rows = before_->grid.tile_rows;
      grid.tile_cols = before_->grid.tile_cols;
    }
  }

  void begin(const TileGrid& grid) override {
    grid_ = grid;
    layout_ = {.matrix = grid.shape, .condensed = dump_.condensed, .shape = shape_of(grid.shape, options_, dump_)};
    const std::string now = fingerprint({.format = std::string(format_.name), .compress = dump_.compress, .layout = layout_, .grid = grid}, x_, y_, options_);
    target_ = format_.make({.path = path_, .compress = dump_.compress, .layout = layout_, .grid = grid});
    if (options_.shards > 1 && !target_->resumable()) {
      fail(ErrorCode::unsupported, "'{}': a compressed {} file cannot be sharded; leave out --compress, or use .zarr", path_, format_.name);
    }
    if (before_) {
      const std::string changed = difference(journal_.fingerprint(), now);
      if (!changed.empty()) fail(ErrorCode::invalid_argument, "'{}' belongs to another dump: {}; use --force to start again, or another name", path_, changed);
      go_on();
    } else {
      if (!journal_.fingerprint().empty() && !dump_.overwrite) {
        fail(ErrorCode::invalid_argument, "'{}' exists, begun or finished; --resume goes on with it, --force starts again", path_);
      }
      // The journal comes first: a file without one could not be told from a stranger's.
      journal_.create(now, grid.tiles());
      try {
        target_->create();
      } catch (const Error& error) {
        if (error.code() == ErrorCode::invalid_argument) journal_.remove();  // there is something that is not replaced
        throw;
      }
      created_ = true;
    }
    report_.tiles_before = journal_.count_done();
    journal_.begun();
    report_.format = format_.name;
    report_.shape = layout_.shape;
    report_.file_bytes = static_cast<double>(layout_.bytes());
    report_.tiles = held_tiles();
    writer_.emplace(*target_, journal_, std::max<std::uint64_t>(dump_.unsynced, 1));
  }

  bool wanted(Index tile) const override { return !journal_.done(tile) && holds_any(layout_, tile_of(grid_, tile)); }
  void put(const ValueTile& tile) override { writer_->put(tile, layout_); }
  void finish() override {
    writer_->finish();
    target_->finish(options_.shards == 1);
    report_.seconds_waiting = writer_->seconds_waiting();
    report_.tiles_after = report_.tiles_before + writer_->marked();
  }

  /// Takes away what this call began.
  void discard() {
    if (!created_) return;
    writer_.reset();
    journal_.remove();
    if (!target_->resumable()) return;  // nothing has its name yet
    target_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    if (!format_.beside.empty()) std::filesystem::remove(path_ + std::string(format_.beside), ignored);
  }

 private:
  bool joins() const noexcept { return dump_.resume || (options_.shards > 1 && !dump_.overwrite); }

  /// Takes up what an earlier run, or another shard, left.
  void go_on() {
    journal_.load(grid_.tiles());
    std::error_code ignored;
    if (journal_.count_done() == 0 && options_.shards == 1) return target_->create();
    if (!std::filesystem::exists(path_, ignored)) {
      // The process that wrote the journal ended before the file was there.
      for (Index t = 0; t < grid_.tiles(); ++t) {
        if (journal_.done(t)) journal_.forget(t);
      }
      journal_.sync();  // else old marks could come back beside a new file
      return target_->create();
    }
    target_->open(true);
    if (!dump_.resume) return;
    std::vector<std::byte> values(static_cast<std::size_t>(grid_.tile_rows * grid_.tile_cols) * layout_.itemsize());
    for (Index t = 0; t < grid_.tiles(); ++t) {
      if (options_.stop.stop_requested()) fail(ErrorCode::cancelled, "interrupted");
      if (!journal_.done(t) || intact(*target_, journal_, layout_, tile_of(grid_, t), values)) continue;
      journal_.forget(t);
      ++report_.tiles_damaged;
    }
    if (report_.tiles_damaged > 0) journal_.sync();
  }

  Index held_tiles() const {
    Index held = 0;
    for (Index t = 0; t < grid_.tiles(); ++t) held += holds_any(layout_, tile_of(grid_, t)) ? 1 : 0;
    return held;
  }

  const TargetFormat& format_;
  std::string path_;
  const RowSet& x_;
  const RowSet* y_;
  const DistanceOptions& options_;
  const DumpOptions& dump_;
  DumpReport& report_;
  Journal journal_;
  std::optional<Identity> before_;
  TileGrid grid_;
  Layout layout_;
  std::unique_ptr<Target> target_;
  std::optional<TileWriter> writer_;
  bool created_ = false;  // by this call, alone or as the first shard
};

Index product(const std::vector<Index>& sizes) {
  Index all = 1;
  for (const Index size : sizes) all *= size;
  return all;
}

void check_options(const RowSet& x, const RowSet* y, const DistanceOptions& options, const DumpOptions& dump) {
  if (dump.condensed && (y != nullptr || options.batches > 1)) {
    fail(ErrorCode::invalid_argument, "a condensed matrix is one set against itself: leave out the other set, or write the square");
  }
  if (!dump.row_grid.empty() && product(dump.row_grid) != x.rows) {
    fail(ErrorCode::invalid_argument, "a grid of {} cells for {} rows: wanted as many", product(dump.row_grid), x.rows);
  }
  if (y != nullptr && !dump.col_grid.empty() && product(dump.col_grid) != y->rows) {
    fail(ErrorCode::invalid_argument, "a grid of {} cells for {} columns: wanted as many", product(dump.col_grid), y->rows);
  }
}

}  // namespace
}  // namespace dump

std::vector<Index> dump_shape(const MatrixShape& matrix, const DistanceOptions& options, const DumpOptions& dump) { return dump::shape_of(matrix, options, dump); }

void check_dumpable(const std::string& path, const DumpOptions& dump) {
  const auto& format = dump::target_format(path, dump.format);
  dump::check_target(format, path, dump.compress, dump.condensed);
  // The journal lies beside the dump, so this checks the folder too.
  io::check_output_path(dump::journal_path(path), true);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && std::filesystem::is_directory(path, ignored) != format.folder) {
    support::fail(ErrorCode::invalid_argument, "'{}' exists and is {}; choose another output", path, format.folder ? "no folder" : "a folder");
  }
}

DumpReport dump_distances(const std::string& path, const RowSet& x, const RowSet* y, const DistanceOptions& options, const DumpOptions& dump) {
  dump::check_options(x, y, options, dump);
  check_dumpable(path, dump);
  DumpReport report;
  dump::DumpSink sink(path, x, y, options, dump, report);
  try {
    report.matrix = y != nullptr ? distance_matrix(x, *y, options, sink) : distance_matrix(x, options, sink);
  } catch (const Error& error) {
    // A value that the type does not hold: no resume could finish it.
    if (error.code() == ErrorCode::malformed_input && options.shards == 1) sink.discard();
    throw;
  }
  return report;
}

DumpStatus verify_dump(const std::string& path, const ProgressFunction& progress, std::stop_token stop) {
  dump::Journal journal(path, dump::Journal::Access::reading);
  const dump::Identity id = dump::parse_fingerprint(journal.fingerprint(), path);
  journal.load(id.grid.tiles());
  const auto target = dump::target_format(path, id.format).make({.path = path, .compress = id.compress, .layout = id.layout, .grid = id.grid});
  target->open(false);
  DumpStatus status{.format = id.format, .shape = id.layout.shape, .tiles = 0, .missing = 0, .damaged = {}};
  std::vector<std::byte> values(static_cast<std::size_t>(id.grid.tile_rows * id.grid.tile_cols) * id.layout.itemsize());
  double read = 0;
  for (Index t = 0; t < id.grid.tiles(); ++t) {
    if (stop.stop_requested()) support::fail(ErrorCode::cancelled, "interrupted");
    const ValueTile tile = dump::tile_of(id.grid, t);
    if (!dump::holds_any(id.layout, tile)) continue;
    ++status.tiles;
    if (!journal.done(t)) {
      ++status.missing;
    } else if (!dump::intact(*target, journal, id.layout, tile, values)) {
      status.damaged.push_back(t);
    }
    read += static_cast<double>(tile.rows * tile.cols) * static_cast<double>(id.layout.itemsize());
    if (progress) progress({"verify", read, static_cast<double>(id.layout.bytes())});
  }
  return status;
}

std::vector<std::string> dump_formats() {
  std::vector<std::string> suffixes;
  for (const auto& format : dump::target_formats()) {
    if (format.missing == nullptr) suffixes.insert(suffixes.end(), format.suffixes.begin(), format.suffixes.end());
  }
  return suffixes;
}

}  // namespace tessera
