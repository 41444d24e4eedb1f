// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cell.hpp"
#include "tessera/export.hpp"
#include "tessera/progress.hpp"
#include "tessera/result.hpp"
#include "tessera/rows.hpp"

namespace tessera {

/// What rows are read for. A container may hold both under well-known names (HDF5 of ann-benchmarks: train and test).
enum class RowRole : std::uint8_t { base, queries };

/// How to read a file of distributions: rows of the metric wasserstein.
struct DistributionOptions {
  bool wanted = false;      ///< also ragged rows (npz and h5: values, offsets, weights, shape; npz: arr_0, arr_1, ...) and npy grids [rows, cols, s]
  bool histogram = false;   ///< rows are counts on a common support
  std::string support{};    ///< a file with its points; "": 0, 1, 2, ...
  Index grid_rows = 0;      ///< > 0: the rows are the cells of a grid
  Index grid_cols = 0;
};

/// How to read a file of rows.
struct ReadOptions {
  std::string format{};     ///< "" : by the suffix; else "npy", "h5", "fbin", "fvecs", "idx", ...
  Index first_row = 0;      ///< rows [first_row, last_row) only; ids stay the file's row numbers
  Index last_row = -1;      ///< -1: to the end
  RowRole role = RowRole::base;  ///< which array is meant when several are there and none is named
  bool batched = false;     ///< npy, npz: arrays [B, n, d] too, as B * n rows; RowFile::batches() says B
  Index frame = 0;          ///< which, from 0, of a file of atoms that holds several (xyz, gro, pdb)
  DistributionOptions distributions{};
};

/// An opened file of rows: memory-mapped where the layout allows, else read. Owns what rows() views.
class TESSERA_API RowFile {
 public:
  /// Opens and validates. "FILE:NAME" picks an array inside a container.
  /// throws   Error{io} (no such file, permission, a directory), Error{malformed_input} (truncated, broken header,
  ///          size mismatch, with a hint when it looks like another format), Error{unsupported}.
  static RowFile open(const std::string& path, const ReadOptions& options = {});

  RowFile(RowFile&&) noexcept;
  RowFile& operator=(RowFile&&) noexcept;
  ~RowFile();

  const RowSet& rows() const noexcept;            ///< the rows asked for
  const std::string& path() const noexcept;       ///< as given
  const std::string& format() const noexcept;     ///< "npy", "fbin", ...
  bool mapped() const noexcept;                   ///< true: backed by the file's own pages
  Index file_rows() const noexcept;               ///< rows in the whole file
  Index batches() const noexcept;                 ///< B of an array [B, n, d] (ReadOptions::batched), else 0
  const std::optional<Cell>& cell() const noexcept;  ///< of a file of atoms that has one, in the file's own unit

  struct Impl;
  explicit RowFile(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// How to write neighbour lists.
struct WriteOptions {
  std::string format{};          ///< "" : by the suffix; else "npz", "h5", "ibin", "npy", "csv", "ivecs"
  bool ids_int32 = false;        ///< int32 ids in npz, h5 and npy; Error{invalid_argument} when an id does not fit
  bool overwrite = false;        ///< else an existing file is Error{invalid_argument}
};

/// Writes neighbour lists: to a temporary name in the same folder, then renamed, so that no half file is ever seen.
/// npz: ids, distances [nq, k]; h5: neighbors, distances (ann-benchmarks); npy and ivecs: ids; ibin: big-ann ground
/// truth (u32 nq, u32 k, i32 ids, f32 distances); csv.
TESSERA_API void write_neighbours(const std::string& path, const Neighbours& neighbours,
                                  const WriteOptions& options = {});

/// Writes Neighbours::shifts as .npy, int32 [nq, k, 3], by the same rules as write_neighbours().
/// throws   Error{invalid_argument} when the lists come without shifts.
TESSERA_API void write_shifts(const std::string& path, const Neighbours& neighbours, bool overwrite = false);

/// Throws what write_neighbours() would throw for this path before a long computation is spent on it:
/// Error{unsupported} for a format whose library this build lacks.
TESSERA_API void check_writable(const std::string& path, const WriteOptions& options = {});

/// Neighbour lists read back from a file.
struct NeighbourLists {
  Index rows = 0;                // nq
  Index k = 0;                   // columns
  std::vector<std::int64_t> ids;  // [rows, k]; negative: missing
  std::vector<double> distances;  // [rows, k], or empty: the file has none
};

/// Reads what write_neighbours(), FAISS, DiskANN, ann-benchmarks and big-ann-benchmarks write.
///
/// path       .npz (ids, distances; or I, D), .h5 (neighbors, distances), .ibin and .bin (u32 nq, u32 k, ids, then distances
///            or nothing), .npy, .ivecs, .csv; "FILE:NAME" for one array of ids.
/// distances  a file of distances in the same shape (FAISS's D.npy); "": those of `path`, if it has any.
/// throws     Error{malformed_input}: truncated, shapes that differ, floats or the bits of floats where ids are wanted.
TESSERA_API NeighbourLists read_neighbours(const std::string& path, const std::string& distances = "");

/// How to write rows.
struct RowWriteOptions {
  std::string format{};         ///< "" : by the suffix; else "npy", "fbin", "u8bin", "fvecs", "csv", ...
  std::optional<DType> dtype{}; ///< empty: what the format holds, else the rows' own; float32 when they are normalized
  bool normalize = false;       ///< every row is divided by its L2 norm, in double; zero rows stay zero
  bool lossy = false;           ///< a float may be rounded to a narrower one; never to an integer, never to inf
  bool overwrite = false;       ///< else an existing file is Error{invalid_argument}
  ProgressFunction progress{};  ///< phase "write", counted in rows
  std::stop_token stop{};       ///< Error{cancelled} soon after a stop is requested; nothing is left behind
};

/// What write_rows() did.
struct RowsWritten {
  std::string format;
  DType dtype = DType::f32;
  Index zero_rows = 0;       ///< rows without a direction, left zero (normalize)
  std::int64_t rounded = 0;  ///< elements rounded (lossy)
};

/// Writes rows, converted, without holding a second copy of them; whole or not at all, as write_neighbours().
///
/// rows     [n, d], any type, strides and byte order; n and d within what the format's header can say.
/// returns  the type that was chosen, and what was changed.
/// throws   Error{malformed_input}: a value that the type does not hold exactly, naming row (the file's own number),
///          column, value and a type that does; a row that is not finite, under normalize.
///          Error{invalid_argument}: a type or shape that the format has no place for; an existing file.
TESSERA_API RowsWritten write_rows(const std::string& path, const RowSet& rows, const RowWriteOptions& options = {});

/// Throws what write_rows() would throw for this path whatever the rows.
TESSERA_API void check_rows_writable(const std::string& path, const RowWriteOptions& options = {});

/// Writes a report: whole or not at all, as write_neighbours().
TESSERA_API void write_text(const std::string& path, std::string_view text, bool overwrite = false);

/// Suffixes read and written, for help texts.
TESSERA_API std::vector<std::string> readable_formats();
TESSERA_API std::vector<std::string> writable_formats();      ///< of neighbour lists
TESSERA_API std::vector<std::string> writable_row_formats();  ///< of rows

}  // namespace tessera
