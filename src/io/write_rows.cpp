// SPDX-License-Identifier: Apache-2.0
// Here: rows into a file of another type or format, one row in memory at a time. Not here: formats (row_format.cpp),
// elements (convert_row.cpp).
#include <algorithm>
#include <chrono>
#include <iterator>
#include <vector>

#include <fmt/ranges.h>

#include "io/convert_row.hpp"
#include "io/element.hpp"
#include "io/format.hpp"
#include "io/output_path.hpp"
#include "io/row_format.hpp"
#include "io/temp_file.hpp"
#include "support/fail.hpp"

namespace tessera {

namespace {

using io::RowFormat;
using support::fail;

const RowFormat& choose_row_format(const std::string& path, const std::string& asked) {
  const std::string name = io::lower(path);
  for (const RowFormat& format : io::row_formats()) {
    const bool by_suffix = name.ends_with(format.suffix) ||
                           (!format.other_suffix.empty() && name.ends_with(format.other_suffix));
    if (asked.empty() ? by_suffix : asked == format.name) return format;
  }
  const std::string known = fmt::format("{}", fmt::join(writable_row_formats(), ", "));
  if (!asked.empty()) {
    fail(ErrorCode::invalid_argument, "'{}' is not a format rows are written in; wanted one of {}", asked, known);
  }
  fail(ErrorCode::invalid_argument, "'{}': the suffix tells no format rows are written in; wanted one of {}", path,
       known);
}

void check_shape(const std::string& path, const RowSet& rows, const RowFormat& format) {
  if (rows.cols < 1 || rows.rows < 0) {
    fail(ErrorCode::invalid_argument, "'{}': {} rows of {} columns; wanted at least 1 column", path, rows.rows,
         rows.cols);
  }
  if (rows.rows < format.least_rows) {
    fail(ErrorCode::invalid_argument, "'{}': a {} file without rows is empty and cannot be read; write .npy", path,
         format.suffix);
  }
  if (rows.rows > format.most_rows || rows.cols > format.most_cols) {
    fail(ErrorCode::invalid_argument, "'{}': {} rows of {} columns; {} counts up to {} rows of {}; write .npy", path,
         rows.rows, rows.cols, format.suffix, format.most_rows, format.most_cols);
  }
}

/// Tells the caller where the work stands, and hears from it, about ten times a second.
class Pace {
 public:
  Pace(const RowWriteOptions& options, Index rows) : options_(options), rows_(rows) {}

  void after(Index row) {
    if (options_.stop.stop_requested()) fail(ErrorCode::cancelled, "stopped after {} of {} rows", row, rows_);
    const auto now = Clock::now();
    if (!options_.progress || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    options_.progress({.phase = "write", .done = static_cast<double>(row), .total = static_cast<double>(rows_)});
  }

 private:
  using Clock = std::chrono::steady_clock;
  const RowWriteOptions& options_;
  Index rows_;
  Clock::time_point last_ = Clock::now();
};

/// "1,0.5,nan\n": the fewest digits that float64 reads back equal.
void append_text(std::string& out, std::span<const std::byte> row, DType dtype) {
  io::with_type(dtype, [&](auto type) {
    for (std::size_t at = 0; at < row.size(); at += sizeof type) {
      constexpr bool kBig = std::endian::native == std::endian::big;
      const auto value = io::widen(io::load_element<decltype(type)>(row.data() + at, kBig));
      fmt::format_to(std::back_inserter(out), "{}{}", at > 0 ? "," : "", value);
    }
  });
  out.push_back('\n');
}

void write_all(io::TempFile& out, const RowSet& rows, io::RowConverter& converter, const RowFormat& format,
               const RowWriteOptions& options, DType dtype) {
  constexpr Index kElements = 1 << 16;  // between two looks at the clock: rarely enough, and well below 0.1 s
  const Index pause = std::max<Index>(1, kElements / rows.cols);
  Pace pace(options, rows.rows);
  if (format.header != nullptr) out.append(io::as_bytes(format.header(dtype, rows.rows, rows.cols)));
  const std::string prefix = format.row_prefix != nullptr ? format.row_prefix(rows.cols) : "";
  std::vector<std::byte> row(converter.row_bytes());
  std::string text;
  for (Index i = 0; i < rows.rows; ++i) {
    converter.convert(i, row);
    out.append(io::as_bytes(prefix));
    if (format.text) {
      text.clear();
      append_text(text, row, dtype);
      out.append(io::as_bytes(text));
    } else {
      out.append(row);
    }
    if (i % pause == 0) pace.after(i);
  }
}

}  // namespace

RowsWritten write_rows(const std::string& path, const RowSet& rows, const RowWriteOptions& options) {
  check_rows_writable(path, options);
  const RowFormat& format = choose_row_format(path, options.format);
  check_shape(path, rows, format);
  const DType dtype = io::choose_row_dtype(format, path, rows.dtype, options);
  io::RowConverter converter(rows, {.dtype = dtype, .normalize = options.normalize, .lossy = options.lossy}, path);
  io::TempFile out(path);
  write_all(out, rows, converter, format, options, dtype);
  out.commit(options.overwrite);
  return {.format = std::string(format.name),
          .dtype = dtype,
          .zero_rows = converter.zero_rows(),
          .rounded = converter.rounded()};
}

void check_rows_writable(const std::string& path, const RowWriteOptions& options) {
  const RowFormat& format = choose_row_format(path, options.format);
  io::choose_row_dtype(format, path, std::nullopt, options);
  io::check_output_path(path, options.overwrite);
}

std::vector<std::string> writable_row_formats() {
  std::vector<std::string> names;
  for (const RowFormat& format : io::row_formats()) {
    names.emplace_back(format.suffix);
    if (!format.other_suffix.empty()) names.emplace_back(format.other_suffix);
  }
  return names;
}

}  // namespace tessera
