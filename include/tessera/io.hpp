// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.hpp"
#include "tessera/rows.hpp"

namespace tessera {

/// How to read a file of rows.
struct ReadOptions {
  std::string format;       ///< "" : by the suffix; else "npy", "fbin", "fvecs", "idx", ...
  Index first_row = 0;      ///< rows [first_row, last_row) only; ids stay the file's row numbers
  Index last_row = -1;      ///< -1: to the end
};

/// An opened file of rows: memory-mapped where the layout allows, else read. Owns what rows() views.
class RowFile {
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

  struct Impl;
  explicit RowFile(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// How to write neighbour lists.
struct WriteOptions {
  std::string format;            ///< "" : by the suffix; else "npz", "ibin", "npy", "csv", "ivecs"
  bool ids_int32 = false;        ///< int32 ids in npz and npy; Error{invalid_argument} when an id does not fit
  bool overwrite = false;        ///< else an existing file is Error{invalid_argument}
};

/// Writes neighbour lists: to a temporary name in the same folder, then renamed, so that no half file is ever seen.
/// npz: ids, distances [nq, k]; npy: ids; ibin: big-ann ground truth (u32 nq, u32 k, i32 ids, f32 distances); csv.
void write_neighbours(const std::string& path, const Neighbours& neighbours, const WriteOptions& options = {});

/// Throws what write_neighbours() would throw for this path before a long computation is spent on it.
void check_writable(const std::string& path, const WriteOptions& options = {});

/// Suffixes read and written, for help texts.
std::vector<std::string> readable_formats();
std::vector<std::string> writable_formats();

}  // namespace tessera
