// SPDX-License-Identifier: Apache-2.0
// One reader under libFuzzer: any bytes give rows that can be read to the last byte, or an Error, and nothing else.
// TESSERA_FUZZ_FORMAT names the reader; "any" tells the format by the content, gzip included, HDF5 not; "ragged" is npz read as distributions.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "io/format.hpp"
#include "io/open_bytes.hpp"
#include "tessera/error.hpp"

namespace {

using namespace tessera;

constexpr std::string_view kFormat = TESSERA_FUZZ_FORMAT;
constexpr Index kMostElements = 1 << 16;  // views may be far larger than the input only when the strides are zero

unsigned touch_element(const std::byte* p, DType dtype) {
  unsigned sum = 0;
  for (std::size_t b = 0; b < size_of(dtype); ++b) sum += static_cast<unsigned>(p[b]);
  return sum;
}

/// Reads every element of every row, and the weight beside it.
unsigned touch_distributions(const RowSet& rows) {
  unsigned sum = 0;
  for (Index i = 0; i < rows.rows; ++i) {
    if (rows.length(i) < 0 || rows.length(i) > rows.cols) std::abort();
    for (Index j = 0; j < rows.length(i); ++j) {
      sum += touch_element(rows.row(i) + j * rows.col_stride, rows.dtype);
      if (rows.weights.data != nullptr) sum += touch_element(rows.weights_of(i) + j * rows.weights.col_stride, rows.weights.dtype);
    }
  }
  return sum;
}

/// Reads elements at both ends of both axes, and a lot in between, so that a view that leaves its bytes is noticed.
unsigned touch(const RowSet& rows) {
  unsigned sum = 0;
  const Index row_step = std::max<Index>(1, rows.rows / 256);
  const Index col_step = std::max<Index>(1, rows.cols / (kMostElements / 256));
  const auto add = [&](Index i, Index j) { sum += touch_element(rows.row(i) + j * rows.col_stride, rows.dtype); };
  for (Index i = 0; i < rows.rows; i += row_step) {
    for (Index j = 0; j < rows.cols; j += col_step) add(i, j);
  }
  if (rows.rows > 0 && rows.cols > 0) add(rows.rows - 1, rows.cols - 1);
  return sum;
}

void try_open(io::Bytes bytes, Index first, Index last) {
  try {
    constexpr bool kRagged = kFormat == "ragged";
    const ReadOptions options{.format = "", .first_row = first, .last_row = last, .distributions = {.wanted = kRagged}};
    const RowFile file = io::open_bytes(bytes, kRagged ? "npz" : kFormat == "any" ? "" : kFormat, options);
    const RowSet& rows = file.rows();
    if (rows.cols < (kRagged ? 0 : 1) || rows.rows < 0 || rows.first_id != first) std::abort();
    if (last >= 0 && rows.rows != last - first) std::abort();
    volatile const unsigned sum = kRagged ? touch_distributions(rows) : touch(rows);
    (void)sum;
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const io::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  if (kFormat == "any") {
    const io::Format* format = io::find_by_content(bytes);
    if (format != nullptr && format->name == "h5") return 0;  // libhdf5's own faults are for the target h5
  }
  try_open(bytes, 0, -1);
  try_open(bytes, 0, 1);
  try_open(bytes, 1, 3);
  return 0;
}
