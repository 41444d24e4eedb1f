// SPDX-License-Identifier: Apache-2.0
// Here: where a file keeps its ids and distances, and whether they can be that. Not here: formats (RowFile, truth_bin).
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "io/element.hpp"
#include "io/format.hpp"
#include "io/mapped_file.hpp"
#include "io/truth_bin.hpp"
#include "support/fail.hpp"

namespace tessera {
namespace io {
namespace {

using support::fail;

/// Names of the two arrays in containers: ours and numpy users', ann-benchmarks', FAISS's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kMembers = {
    {{"ids", "distances"}, {"neighbors", "distances"}, {"I", "D"}}};
constexpr std::int64_t kLeastNormalFloat = 0x00800000;  // the bits of 2^-126

template <class T>
std::int64_t id_of(T value) noexcept {
  if constexpr (sizeof(T) >= 4 && std::is_unsigned_v<T>) {
    if (value == static_cast<T>(-1)) return -1;  // all ones: missing
  }
  return static_cast<std::int64_t>(value);
}

/// Every element of `rows`, by f(value of its C++ type).
template <class Function>
void for_each_element(const RowSet& rows, Function&& f) {
  with_type(rows.dtype, [&](auto element) {
    for (Index row = 0; row < rows.rows; ++row) {
      const std::byte* p = rows.row(row);
      for (Index col = 0; col < rows.cols; ++col, p += rows.col_stride) f(load_element<decltype(element)>(p, rows.byte_swapped));
    }
  });
}

std::vector<double> doubles_of(const RowSet& rows) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(rows.rows * rows.cols));
  for_each_element(rows, [&](auto value) { values.push_back(static_cast<double>(widen(value))); });
  return values;
}

NeighbourLists lists_of_ids(const RowFile& file) {
  const RowSet& rows = file.rows();
  if (!is_integer(rows.dtype)) {
    fail(ErrorCode::malformed_input, "'{}' holds {} where ids (whole numbers) are wanted: it looks like distances, or rows of data",
         file.path(), name_of(rows.dtype));
  }
  NeighbourLists lists{.rows = rows.rows, .k = rows.cols, .ids = {}, .distances = {}};
  lists.ids.reserve(static_cast<std::size_t>(rows.rows * rows.cols));
  for_each_element(rows, [&](auto value) {
    if constexpr (std::is_integral_v<decltype(value)>) lists.ids.push_back(id_of(value));
  });
  return lists;
}

void set_distances(NeighbourLists& lists, const RowFile& file, const std::string& ids_path) {
  const RowSet& rows = file.rows();
  if (rows.rows != lists.rows || rows.cols != lists.k) {
    fail(ErrorCode::malformed_input, "'{}' has {} x {} distances, '{}' has {} x {} ids: wanted one of each", file.path(), rows.rows,
         rows.cols, ids_path, lists.rows, lists.k);
  }
  lists.distances = doubles_of(rows);
}

/// FILE:NAME, where there is such an array.
std::optional<RowFile> open_member(const std::string& path, std::string_view member) {
  try {
    return RowFile::open(path + ":" + std::string(member));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) return std::nullopt;
    throw;
  }
}

NeighbourLists read_container(const std::string& path) {
  for (const auto& [ids, distances] : kMembers) {
    const auto file = open_member(path, ids);
    if (!file) continue;
    NeighbourLists lists = lists_of_ids(*file);
    if (const auto values = open_member(path, distances)) set_distances(lists, *values, path);
    return lists;
  }
  fail(ErrorCode::malformed_input, "'{}' holds none of the arrays 'ids', 'neighbors' and 'I': name the ids as FILE:NAME", path);
}

/// "query,rank,id,distance" lines, as write_neighbours() writes them.
NeighbourLists read_csv(const RowFile& file) {
  const RowSet& rows = file.rows();
  const std::vector<double> values = doubles_of(rows);
  const auto at = [&](Index row, Index col) { return values[static_cast<std::size_t>(row * 4 + col)]; };
  Index k = 0;
  while (rows.cols == 4 && k < rows.rows && at(k, 0) == 0 && at(k, 1) == static_cast<double>(k + 1)) ++k;
  if (k == 0 || rows.rows % k != 0) {
    fail(ErrorCode::malformed_input, "'{}': wanted lines 'query,rank,id,distance' with equally many ranks for each query", file.path());
  }
  NeighbourLists lists{.rows = rows.rows / k, .k = k, .ids = {}, .distances = {}};
  for (Index i = 0; i < rows.rows; ++i) {
    if (at(i, 0) != static_cast<double>(i / k) || at(i, 1) != static_cast<double>(i % k + 1) || std::trunc(at(i, 2)) != at(i, 2)) {
      fail(ErrorCode::malformed_input, "'{}' entry {}: query {}, rank {}, id {}; wanted query {}, rank {} and a whole id", file.path(), i,
           at(i, 0), at(i, 1), at(i, 2), i / k, i % k + 1);
    }
    lists.ids.push_back(static_cast<std::int64_t>(at(i, 2)));
    lists.distances.push_back(at(i, 3));
  }
  return lists;
}

NeighbourLists read(const std::string& path) {
  const std::string name = lower(path);
  if (name.ends_with(".ibin") || name.ends_with(".bin")) {
    const MappedFile file(path);
    return read_truth_bin(file.bytes(), path);
  }
  if (name.ends_with(".npz") || name.ends_with(".h5") || name.ends_with(".hdf5")) return read_container(path);
  const RowFile file = RowFile::open(path);
  if (file.format() == "csv") return read_csv(file);
  return lists_of_ids(file);
}

/// The bits of ascending positive floats ascend, and none is small. True ids do neither in every list.
void refuse_float_bits(const NeighbourLists& lists, const std::string& path) {
  constexpr Index kEnough = 8;  // chosen: as many ids in ascending order by chance are rare, and all of them huge rarer
  if (lists.k < 2 || std::ssize(lists.ids) < kEnough) return;
  if (std::any_of(lists.ids.begin(), lists.ids.end(), [](std::int64_t id) { return id < kLeastNormalFloat || id > 0x7f800000; })) return;
  for (Index row = 0; row < lists.rows; ++row) {
    const auto first = lists.ids.begin() + row * lists.k;
    if (!std::is_sorted(first, first + lists.k)) return;
  }
  fail(ErrorCode::malformed_input, "'{}': its ids look like the bits of float32 distances (id {} is {:.6g}): wanted the file of ids", path,
       lists.ids[0], static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(lists.ids[0]))));
}

}  // namespace
}  // namespace io

NeighbourLists read_neighbours(const std::string& path, const std::string& distances) {
  NeighbourLists lists = io::read(path);
  if (lists.k < 1) support::fail(ErrorCode::malformed_input, "'{}': lists of {} neighbours; wanted at least 1", path, lists.k);
  io::refuse_float_bits(lists, path);
  if (!distances.empty()) io::set_distances(lists, RowFile::open(distances), path);
  return lists;
}

}  // namespace tessera
