// SPDX-License-Identifier: Apache-2.0
// Here: what the io tests share: folders that vanish, bytes, elements as doubles, and errors as text.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/bytes.hpp"
#include "io/open_bytes.hpp"
#include "tessera/error.hpp"
#include "tessera/io.hpp"

namespace tessera::io::test {

/// A folder of its own for a test, removed with all it holds.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-io-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path(const std::string& name) const { return (path_ / name).string(); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Appends the value's bytes, in `order`.
template <class T>
void put(std::string& out, T value, std::endian order = std::endian::little) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  if (order != std::endian::native) std::reverse(std::begin(bytes), std::end(bytes));
  out.append(bytes, sizeof(T));
}

template <class T>
std::string bytes_of(std::initializer_list<T> values, std::endian order = std::endian::little) {
  std::string out;
  for (const T value : values) put(out, value, order);
  return out;
}

/// A .npy file, version `major`, around the header text as it is.
inline std::string npy(const std::string& dict, const std::string& data, int major = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(major);
  out += '\0';
  major == 1 ? put(out, static_cast<std::uint16_t>(dict.size())) : put(out, static_cast<std::uint32_t>(dict.size()));
  return out + dict + data;
}

/// A .safetensors file around the header text as it is.
inline std::string safetensors(const std::string& json, const std::string& data) {
  std::string out;
  put(out, static_cast<std::uint64_t>(json.size()));
  return out + json + data;
}

/// Element (i, j) of a set whose type is T.
template <class T>
T element(const RowSet& rows, Index i, Index j) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, rows.row(i) + j * rows.col_stride, sizeof(T));
  if (rows.byte_swapped) std::reverse(std::begin(bytes), std::end(bytes));
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// All elements in row order.
template <class T>
std::vector<T> elements(const RowSet& rows) {
  std::vector<T> out;
  for (Index i = 0; i < rows.rows; ++i) {
    for (Index j = 0; j < rows.cols; ++j) out.push_back(element<T>(rows, i, j));
  }
  return out;
}

/// Rows [first, last) of a file.
inline ReadOptions range(Index first, Index last = -1) { return {.format = "", .first_row = first, .last_row = last}; }

/// Runs `action`, which must throw Error{code}. returns  the message, which must be one line.
template <class Action>
std::string error_of(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// The message of opening bytes in memory.
inline std::string open_error(ErrorCode code, const std::string& bytes, const std::string& format,
                              const ReadOptions& options = {}) {
  return error_of(code, [&] { open_bytes(as_bytes(bytes), format, options); });
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tessera::io::test

#define EXPECT_CONTAINS(text, part) EXPECT_PRED2(tessera::io::test::contains, text, part)
