// SPDX-License-Identifier: Apache-2.0
// A test's eye: opens a file through RowFile and prints its rows as hexfloat doubles, for make_and_check.py to compare.
//   rows_dump FILE [FORMAT|-] [FIRST] [LAST]
// First line: rows cols dtype format mapped first_id file_rows. On an Error: "error CODE MESSAGE", exit status 1.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "tessera/error.hpp"
#include "tessera/io.hpp"

namespace {

using tessera::DType;
using tessera::Index;

template <class T>
double load(const std::byte* p, bool swapped) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, p, sizeof(T));
  if (swapped) std::reverse(std::begin(bytes), std::end(bytes));
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<double>(value);
}

/// IEEE half precision, by its definition.
double half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

/// bfloat16, by its definition: the upper half of a float32.
double brain(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return static_cast<double>(value);
}

double element(const tessera::RowSet& rows, Index i, Index j) {
  const std::byte* p = rows.row(i) + j * rows.col_stride;
  const bool swapped = rows.byte_swapped;
  switch (rows.dtype) {
    case DType::f64: return load<double>(p, swapped);
    case DType::f32: return load<float>(p, swapped);
    case DType::f16: return half(static_cast<std::uint16_t>(load<std::uint16_t>(p, swapped)));
    case DType::i8: return load<std::int8_t>(p, swapped);
    case DType::u8: return load<std::uint8_t>(p, swapped);
    case DType::i16: return load<std::int16_t>(p, swapped);
    case DType::u16: return load<std::uint16_t>(p, swapped);
    case DType::i32: return load<std::int32_t>(p, swapped);
    case DType::u32: return load<std::uint32_t>(p, swapped);
    case DType::i64: return load<std::int64_t>(p, swapped);
    case DType::u64: return load<std::uint64_t>(p, swapped);
    case DType::bf16: return brain(static_cast<std::uint16_t>(load<std::uint16_t>(p, swapped)));
  }
  return std::nan("");
}

void dump(const tessera::RowFile& file) {
  const tessera::RowSet& rows = file.rows();
  std::printf("%lld %lld %s %s %d %lld %lld\n", static_cast<long long>(rows.rows), static_cast<long long>(rows.cols),
              std::string(tessera::name_of(rows.dtype)).c_str(), file.format().c_str(), file.mapped() ? 1 : 0,
              static_cast<long long>(rows.first_id), static_cast<long long>(file.file_rows()));
  for (Index i = 0; i < rows.rows; ++i) {
    for (Index j = 0; j < rows.cols; ++j) std::printf("%s%a", j > 0 ? " " : "", element(rows, i, j));
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  tessera::ReadOptions options;
  if (argc > 2 && std::strcmp(argv[2], "-") != 0) options.format = argv[2];
  if (argc > 3) options.first_row = std::stoll(argv[3]);
  if (argc > 4) options.last_row = std::stoll(argv[4]);
  try {
    dump(tessera::RowFile::open(argv[1], options));
  } catch (const tessera::Error& error) {
    std::printf("error %d %s\n", static_cast<int>(error.code()), error.what());
    return 1;
  }
  return 0;
}
