// SPDX-License-Identifier: Apache-2.0
#include "support/data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tessera::testing {
namespace {

template <class T>
std::uint64_t pattern_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
std::uint64_t saturated(double value) {
  if (std::isnan(value)) return 0;
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = std::min(static_cast<double>(std::numeric_limits<T>::max()), 0x1p53);  // more is an error of its own
  return pattern_of(static_cast<T>(std::clamp(std::nearbyint(value), std::max(low, -0x1p53), high)));
}

/// The element's bits, in the low bytes.
std::uint64_t encode(double value, DType dtype) {
  switch (dtype) {
    case DType::f64: return pattern_of(value);
    case DType::f32: return pattern_of(static_cast<float>(value));
    case DType::f16: return half_bits(value);
    case DType::bf16: return brain_bits(value);
    case DType::i8: return saturated<std::int8_t>(value);
    case DType::u8: return saturated<std::uint8_t>(value);
    case DType::i16: return saturated<std::int16_t>(value);
    case DType::u16: return saturated<std::uint16_t>(value);
    case DType::i32: return saturated<std::int32_t>(value);
    case DType::u32: return saturated<std::uint32_t>(value);
    case DType::i64: return saturated<std::int64_t>(value);
    case DType::u64: return saturated<std::uint64_t>(value);
  }
  return 0;
}

struct Strides {
  Index column;
  Index row;
  Index start;  // byte of element (0, 0)
  Index bytes;  // in all
};

Strides strides_of(Layout layout, Index item, Index rows, Index cols) {
  switch (layout) {
    case Layout::plain:
    case Layout::byte_swapped: return {item, item * cols, 0, item * rows * cols};
    case Layout::strided: {
      const Index row = 2 * item * cols + 3 * item;
      return {2 * item, row, item, row * rows + item};
    }
    case Layout::negative_stride: {  // both axes run backwards
      const Index all = item * rows * cols;
      return {-item, -item * cols, all - item, all};
    }
    case Layout::unaligned: return {item, item * cols + 1, 1, (item * cols + 1) * rows + 1};
  }
  return {};
}

}  // namespace

Matrix zeros(Index rows, Index cols) {
  return {rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols), 0.0)};
}

Stored::Stored(const Matrix& m, DType dtype, Layout layout) {
  const auto item = static_cast<Index>(size_of(dtype));
  const Strides s = strides_of(layout, item, m.rows, m.cols);
  bytes_.resize(static_cast<std::size_t>(s.bytes) + 1, std::byte{0xA5});  // what lies between elements must not matter
  for (Index i = 0; i < m.rows; ++i) {
    for (Index t = 0; t < m.cols; ++t) {
      const std::uint64_t bits = encode(m.row(i)[t], dtype);
      std::byte* at = bytes_.data() + s.start + i * s.row + t * s.column;
      std::memcpy(at, &bits, static_cast<std::size_t>(item));
      if (layout == Layout::byte_swapped) std::reverse(at, at + item);
    }
  }
  rows_ = {.data = bytes_.data() + (m.rows > 0 ? s.start : 0), .dtype = dtype, .rows = m.rows, .cols = m.cols, .row_stride = s.row,
           .col_stride = s.column, .byte_swapped = layout == Layout::byte_swapped};
}

std::uint16_t half_bits(double value) {
  const unsigned sign = std::signbit(value) ? 0x8000u : 0u;
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | 0x7c00u);
  const int exponent = std::max(std::ilogb(magnitude), -14);
  if (exponent > 15) return static_cast<std::uint16_t>(sign | 0x7c00u);
  // In units of the last place; 2048 carries into the exponent by itself, and past the largest that gives infinity.
  const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  const unsigned bits = units < 1024 ? units : (static_cast<unsigned>(exponent + 14) << 10) + units;
  return static_cast<std::uint16_t>(sign | std::min(bits, 0x7c00u));
}

std::uint16_t brain_bits(double value) {
  const auto f = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &f, sizeof f);
  if (std::isnan(f)) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  bits += 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<std::uint16_t>(bits >> 16);
}

std::string_view name_of(Kind kind) {
  constexpr std::string_view kNames[] = {"normal",       "small_integers", "duplicates", "all_equal", "huge_offset", "two_clusters", "one_huge_row",
                                         "one_scaled",   "denormal",       "tiny",       "large",     "mixed_scales", "zero_rows"};
  return kNames[static_cast<int>(kind)];
}

std::string_view name_of(Layout layout) {
  constexpr std::string_view kNames[] = {"plain", "byte_swapped", "strided", "negative_stride", "unaligned"};
  return kNames[static_cast<int>(layout)];
}

namespace {

using Random = std::mt19937_64;

double gauss(Random& random) { return std::normal_distribution<double>()(random); }
int below(int n, Random& random) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

void fill_row(Kind kind, double* row, Index cols, Random& random) {
  double row_scale = 1;
  double offset = 0;
  switch (kind) {
    case Kind::huge_offset: offset = 1e6; break;
    case Kind::two_clusters: offset = below(2, random) * 1e4; break;
    case Kind::denormal: row_scale = 1e-40; break;
    case Kind::tiny: row_scale = 1e-20; break;
    case Kind::large: row_scale = 1e20; break;
    case Kind::mixed_scales: row_scale = std::pow(10.0, below(31, random) - 15); break;
    default: break;
  }
  for (Index t = 0; t < cols; ++t) row[t] = kind == Kind::small_integers ? below(4, random) : row_scale * gauss(random) + offset;
  if (kind == Kind::one_scaled) row[cols / 2] *= 1e4;
}

}  // namespace

Matrix make(Kind kind, Index rows, Index cols, Random& random) {
  Matrix m = zeros(rows, cols);
  for (Index i = 0; i < rows; ++i) fill_row(kind, m.row(i), cols, random);
  auto copy = [&](Index from, Index to) { std::copy_n(m.row(from), cols, m.row(to)); };
  switch (kind) {
    case Kind::duplicates:
      for (Index i = 5; i < rows; ++i) copy(below(5, random), i);
      break;
    case Kind::all_equal:
      for (Index i = 1; i < rows; ++i) copy(0, i);
      break;
    case Kind::one_huge_row:
      if (rows > 0) {
        for (Index t = 0; t < cols; ++t) m.row(rows / 2)[t] *= 1e15;
      }
      break;
    case Kind::zero_rows:
      for (Index i = 0; i < rows; i += 3) std::fill_n(m.row(i), cols, 0.0);
      break;
    default: break;
  }
  return m;
}

Matrix hurtful(int number, Index rows, Index cols, Random& random) {
  if (number < kKindCount) return make(static_cast<Kind>(number), rows, cols, random);
  Matrix m = make(Kind::normal, rows, cols, random);
  for (double& v : m.values) {
    switch (number - kKindCount) {
      case 0: v += 1e8; break;
      case 1: v = 1e8 + v * 1e-6; break;
      case 2: v *= 1e-160; break;
      case 3: v *= 1e140; break;
      case 4: v *= 0x1p-1040; break;  // denormal of float64
      case 5: v = -1e12 + std::round(v * 3); break;
      default: v = std::ldexp(v, below(300, random) - 150); break;
    }
  }
  return m;
}

}  // namespace tessera::testing
