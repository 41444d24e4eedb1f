// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/distances.hpp"
#include "tessera/export.hpp"

namespace tessera {

/// Where and how a matrix is written.
struct DumpOptions {
  std::string format{};            ///< "" : by the suffix; else "npy", "raw", "h5", "zarr"
  std::string compress{};          ///< "", "gzip" (h5, zarr) or "zstd" (zarr)
  bool batched = false;            ///< the shape begins with the number of batches, even if it is 1
  bool condensed = false;          ///< scipy's order: only j > i, one after the other (npy, raw)
  bool resume = false;             ///< goes on with an interrupted dump after checking what it finished; damaged tiles are redone
  bool overwrite = false;          ///< replaces what is there
  std::vector<Index> row_grid{};   ///< rows of x as a grid [r, c]: the file's shape becomes [r, c, ...]
  std::vector<Index> col_grid{};   ///< the same of y
  std::uint64_t unsynced = std::uint64_t{256} << 20;  ///< bytes that may be written and not yet on the disk
};

/// What a dump did.
struct DumpReport {
  DistanceReport matrix;
  std::string format;
  std::vector<Index> shape;         ///< of the array in the file
  double file_bytes = 0;            ///< of the whole array
  Index tiles = 0;                  ///< of the whole file, this call's shard or not
  Index tiles_before = 0;           ///< finished before this call
  Index tiles_damaged = 0;          ///< finished before, but their checksum was wrong: computed again
  Index tiles_after = 0;            ///< finished now
  double seconds_waiting = 0;       ///< workers' time, summed, that writing made them wait
};

/// Writes every distance between the rows of x and of y (null: of x among themselves) into a file.
///
/// The file has its full size at once and is filled tile by tile. `PATH.tiles` beside it is the journal: which tiles are on the
/// disk, and their CRC-32C. After a crash, resume goes on where it ended; the file is then the same, byte for byte, as an
/// uninterrupted one. The journal stays, for verify_dump().
///
/// throws   as distance_matrix() (a value past float16: what this call began is removed); Error{io}: no space, a write that failed (what is finished can be resumed);
///          Error{invalid_argument}: the file exists, or belongs to another dump (naming what differs).
TESSERA_API DumpReport dump_distances(const std::string& path, const RowSet& x, const RowSet* y, const DistanceOptions& options,
                                      const DumpOptions& dump = {});

/// The shape of the array in the file, for a matrix of this shape: grids and batches included.
TESSERA_API std::vector<Index> dump_shape(const MatrixShape& matrix, const DistanceOptions& options, const DumpOptions& dump = {});

/// What a dump's journal and its file say.
struct DumpStatus {
  std::string format;
  std::vector<Index> shape;
  Index tiles = 0;
  Index missing = 0;                ///< not finished yet
  std::vector<Index> damaged;       ///< finished, but their bytes are not those that were written
  bool complete() const noexcept { return missing == 0 && damaged.empty(); }
};

/// Reads the whole dump back and compares checksums. progress: phase "verify", in bytes.
/// throws   Error{io}, Error{malformed_input}: no journal, or a file shorter than it must be.
TESSERA_API DumpStatus verify_dump(const std::string& path, const ProgressFunction& progress = {}, std::stop_token stop = {});

/// Throws what dump_distances() would throw for this path before anything is computed.
TESSERA_API void check_dumpable(const std::string& path, const DumpOptions& dump);

/// Suffixes, for help texts.
TESSERA_API std::vector<std::string> dump_formats();

}  // namespace tessera
