// SPDX-License-Identifier: Apache-2.0
// Here: the list of formats neighbour lists are written in. To add one: write its file, declare its row here, name it
// in write_neighbours.cpp.
#pragma once

#include <string>
#include <string_view>

#include "io/temp_file.hpp"
#include "tessera/io.hpp"

namespace tessera::io {

/// One format of neighbour lists.
struct Writer {
  std::string_view name;    // what WriteOptions::format says
  std::string_view suffix;  // lower case, with the dot
  std::string_view other_suffix = {};
  const char* missing = nullptr;  // the library this build lacks for it
  bool int32_only = false;        // the format has no 64-bit ids
  bool distances = true;          // false: ids only
  bool by_path = false;           // a library writes it, and wants a file that has a name
  void (*write)(TempFile& out, const Neighbours& neighbours, const WriteOptions& options) = nullptr;
};

const Writer& npz_writer() noexcept;    // write_npz.cpp
const Writer& h5_writer() noexcept;     // write_h5.cpp
const Writer& npy_writer() noexcept;
void write_npy_shifts(TempFile& out, const Neighbours& neighbours);  // write_npy.cpp    // write_npy.cpp
const Writer& ibin_writer() noexcept;   // write_ibin.cpp
const Writer& ivecs_writer() noexcept;  // write_ivecs.cpp
const Writer& csv_writer() noexcept;    // write_csv.cpp

}  // namespace tessera::io
