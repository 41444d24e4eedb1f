// SPDX-License-Identifier: Apache-2.0
// Here: the list of formats that can be read. To add one: write its file, declare its list here, name it in
// formats.cpp.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/input.hpp"

namespace tessera::io {

/// One readable format.
struct Format {
  std::string_view name;                       // what ReadOptions::format says
  std::array<std::string_view, 3> suffixes{};  // lower case, with the dot; "" where unused
  Decoded (*read)(const Input& input) = nullptr;
  bool (*sniff)(Bytes bytes) noexcept = nullptr;  // null: the content does not tell
  bool container = false;                         // takes FILE:NAME
  Decoded (*read_distributions)(const Input& input) = nullptr;  // ragged rows and grids; null: read does
};

std::span<const Format> npy_formats() noexcept;          // npy.cpp
std::span<const Format> npz_formats() noexcept;          // npz.cpp
std::span<const Format> h5_formats() noexcept;           // h5.cpp
std::span<const Format> safetensors_formats() noexcept;  // safetensors.cpp
std::span<const Format> xbin_formats() noexcept;         // xbin.cpp
std::span<const Format> xvecs_formats() noexcept;        // xvecs.cpp
std::span<const Format> idx_formats() noexcept;          // idx.cpp
std::span<const Format> text_formats() noexcept;         // text.cpp
std::span<const Format> xyz_formats() noexcept;          // xyz.cpp
std::span<const Format> gro_formats() noexcept;          // gro.cpp
std::span<const Format> pdb_formats() noexcept;          // pdb.cpp
std::span<const Format> poscar_formats() noexcept;       // poscar.cpp
std::span<const Format> lammps_formats() noexcept;       // lammps.cpp

/// All of them, in the order help texts show.
std::vector<const Format*> all_formats();

const Format* find_by_name(std::string_view name);  // "fbin"; null when unknown
const Format* find_by_suffix(std::string_view path);
const Format* find_by_content(Bytes bytes);

/// ".npy, .npz, ..." for messages.
std::string list_of_suffixes();

/// `text` in lower case (ASCII).
std::string lower(std::string_view text);

}  // namespace tessera::io
