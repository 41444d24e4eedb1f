// SPDX-License-Identifier: Apache-2.0
#include "io/ragged.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

#include "io/element.hpp"
#include "io/layout.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using support::fail;

constexpr const char* kValues = "values";
constexpr const char* kOffsets = "offsets";
constexpr const char* kWeights = "weights";
constexpr const char* kShape = "shape";

/// What ragged rows point into.
struct Parts {
  std::vector<Index> offsets;
  std::vector<std::byte> joined;
  std::vector<std::shared_ptr<const void>> owners;
};

bool has(const std::vector<ArrayEntry>& arrays, std::string_view name) noexcept {
  return std::ranges::find(arrays, name, &ArrayEntry::name) != arrays.end();
}

Decoded read_flat(const Input& input, const ReadMember& read, const std::string& name) {
  Decoded array = read(name);
  if (array.rows.cols != 1 && array.rows.rows > 0) {
    fail(ErrorCode::malformed_input, "'{}': '{}' has {} columns; wanted one dimension", input.name, name, array.rows.cols);
  }
  return array;
}

/// Integers of any type as row numbers.
std::vector<Index> integers(const Input& input, const Decoded& array, const char* name) {
  if (!is_integer(array.rows.dtype)) {
    fail(ErrorCode::malformed_input, "'{}': '{}' is {}; wanted integers", input.name, name, name_of(array.rows.dtype));
  }
  std::vector<Index> out(static_cast<std::size_t>(array.rows.rows));
  with_type(array.rows.dtype, [&](auto type) {
    for (Index i = 0; i < array.rows.rows; ++i) {
      const auto value = widen(load_element<decltype(type)>(array.rows.row(i), array.rows.byte_swapped));
      std::int64_t whole = 0;
      if (narrow_to(value, whole) != Fit::exact) {
        fail(ErrorCode::malformed_input, "'{}': '{}'[{}] is {}; wanted a number below 2^63", input.name, name, i, value);
      }
      out[static_cast<std::size_t>(i)] = whole;
    }
  });
  return out;
}

void check_offsets(const Input& input, const std::vector<Index>& offsets, Index values) {
  if (offsets.empty()) fail(ErrorCode::malformed_input, "'{}': 'offsets' is empty; wanted one more than there are distributions, from 0", input.name);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Index before = i == 0 ? 0 : offsets[i - 1];
    if (offsets[i] >= before && offsets[i] <= values && (i > 0 || offsets[i] == 0)) continue;
    fail(ErrorCode::malformed_input, "'{}': 'offsets'[{}] is {}; wanted {}", input.name, i, offsets[i],
         i == 0 ? std::string("0") : fmt::format("at least {} and at most {}, the number of values", before, values));
  }
  if (offsets.back() != values) {
    fail(ErrorCode::malformed_input, "'{}': 'offsets' ends at {}, but there are {} values", input.name, offsets.back(), values);
  }
}

/// The rows asked for, out of complete ragged rows.
Decoded finished(const Input& input, RowSet rows, std::shared_ptr<Parts> parts) {
  rows.rows = std::ssize(parts->offsets) - 1;
  rows.offsets = parts->offsets.data();
  for (Index i = 0; i < rows.rows; ++i) rows.cols = std::max(i == 0 ? 0 : rows.cols, rows.length(i));
  return {.rows = take_range(input, rows), .file_rows = rows.rows, .owner = std::move(parts), .views_input = true};
}

/// All elements as float64, appended.
void append_doubles(const Input& input, const Decoded& array, std::size_t number, std::vector<std::byte>& out) {
  with_type(array.rows.dtype, [&](auto type) {
    for (Index i = 0; i < array.rows.rows; ++i) {
      const auto value = widen(load_element<decltype(type)>(array.rows.row(i), array.rows.byte_swapped));
      double wide = 0;
      if (narrow_to(value, wide) != Fit::exact) {
        fail(ErrorCode::malformed_input, "'{}': distribution {}, sample {} is {}, which float64 does not hold: save all arrays as one type", input.name,
             number, i, value);
      }
      out.resize(out.size() + sizeof wide);
      store_element(wide, out.data() + out.size() - sizeof wide);
    }
  });
}

void append_bytes(const Decoded& array, std::vector<std::byte>& out) {
  const auto item = static_cast<Index>(size_of(array.rows.dtype));
  for (Index i = 0; i < array.rows.rows; ++i) out.insert(out.end(), array.rows.row(i), array.rows.row(i) + item);
}

}  // namespace

bool holds_ragged(const std::vector<ArrayEntry>& arrays) noexcept { return has(arrays, kValues) && has(arrays, kOffsets); }

Decoded read_ragged(const Input& input, const std::vector<ArrayEntry>& arrays, const ReadMember& read) {
  auto parts = std::make_shared<Parts>();
  Decoded values = read_flat(input, read, kValues);
  parts->offsets = integers(input, read_flat(input, read, kOffsets), kOffsets);
  check_offsets(input, parts->offsets, values.rows.rows);
  RowSet rows{.data = values.rows.data, .dtype = values.rows.dtype, .col_stride = values.rows.row_stride, .byte_swapped = values.rows.byte_swapped};
  parts->owners.push_back(std::move(values.owner));
  if (has(arrays, kWeights)) {
    Decoded weights = read_flat(input, read, kWeights);
    if (weights.rows.rows != values.rows.rows) {
      fail(ErrorCode::malformed_input, "'{}': {} weights beside {} values; wanted one each", input.name, weights.rows.rows, values.rows.rows);
    }
    rows.weights = {.data = weights.rows.data, .dtype = weights.rows.dtype, .row_stride = 0, .col_stride = weights.rows.row_stride,
                    .byte_swapped = weights.rows.byte_swapped};
    parts->owners.push_back(std::move(weights.owner));
  }
  if (has(arrays, kShape)) {
    const std::vector<Index> shape = integers(input, read_flat(input, read, kShape), kShape);
    const Index cells = std::ssize(parts->offsets) - 1;
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || cells % shape[1] != 0 || cells / shape[1] != shape[0]) {
      fail(ErrorCode::malformed_input, "'{}': 'shape' is {}; wanted rows and cols of a grid of {} distributions", input.name,
           shape_text({shape.begin(), shape.end()}), cells);
    }
    rows.grid_rows = shape[0];
    rows.grid_cols = shape[1];
  }
  return finished(input, rows, std::move(parts));
}

std::optional<std::vector<std::size_t>> find_numbered(const std::vector<ArrayEntry>& arrays) {
  constexpr std::string_view kPrefix = "arr_";
  std::vector<std::size_t> places(arrays.size(), arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string_view name = arrays[i].name;
    if (!name.starts_with(kPrefix) || arrays[i].shape.size() != 1) return std::nullopt;
    std::size_t number = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, status] = std::from_chars(name.data() + kPrefix.size(), end, number);
    if (status != std::errc{} || rest != end || number >= places.size() || places[number] != arrays.size()) return std::nullopt;
    places[number] = i;
  }
  if (arrays.size() < 2) return std::nullopt;
  return places;
}

Decoded join_arrays(const Input& input, std::size_t count, const std::function<Decoded(std::size_t)>& read) {
  auto parts = std::make_shared<Parts>();
  parts->offsets.push_back(0);
  RowSet rows{.dtype = DType::f64};
  bool mixed = false;
  for (std::size_t i = 0; i < count; ++i) {
    const Decoded array = read(i);
    if (i == 0) rows = {.dtype = array.rows.dtype, .byte_swapped = array.rows.byte_swapped};
    if (!mixed && (array.rows.dtype != rows.dtype || array.rows.byte_swapped != rows.byte_swapped)) {
      // Rare enough that the arrays before are simply read again.
      mixed = true;
      rows = {.dtype = DType::f64, .byte_swapped = std::endian::native == std::endian::big};
      parts->joined.clear();
      for (std::size_t before = 0; before < i; ++before) append_doubles(input, read(before), before, parts->joined);
    }
    if (mixed) {
      append_doubles(input, array, i, parts->joined);
    } else {
      append_bytes(array, parts->joined);
    }
    parts->offsets.push_back(parts->offsets.back() + array.rows.rows);
  }
  rows.data = parts->joined.data();
  rows.col_stride = static_cast<Index>(size_of(rows.dtype));
  return finished(input, rows, std::move(parts));
}

}  // namespace tessera::io
