// SPDX-License-Identifier: Apache-2.0
// numpy's format: "\x93NUMPY", major, minor, header length (u16 in version 1, u32 in 2 and 3), a Python dict literal.
#include "io/npy_header.hpp"

#include <algorithm>

#include "io/looks_like.hpp"
#include "io/python_dict.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using namespace std::string_view_literals;
using support::fail;

constexpr std::string_view kMagic = "\x93NUMPY"sv;

/// The dict's text, and where the elements start.
std::string_view header_text(Bytes bytes, const std::string& name, std::uint64_t* data_offset) {
  if (!has_npy_magic(bytes)) {
    fail(ErrorCode::malformed_input, "'{}': no .npy magic at its start; check its format (--in-format){}", name,
         looks_like(bytes, "npy").text);
  }
  const auto major = bytes.size() > 6 ? static_cast<unsigned>(bytes[6]) : 1U;
  if (major < 1 || major > 3) {
    fail(ErrorCode::unsupported, "'{}': .npy version {}; wanted 1, 2 or 3; save it with an older numpy", name, major);
  }
  const std::size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start) {
    fail(ErrorCode::malformed_input,
         "'{}' is truncated: a .npy header is more than {} bytes, the file has {}; fetch it again", name, start,
         bytes.size());
  }
  const std::uint64_t length =
      major == 1 ? load_le<std::uint16_t>(bytes.data() + 8) : load_le<std::uint32_t>(bytes.data() + 8);
  if (length > kNpyHeaderMax) {
    fail(ErrorCode::malformed_input, "'{}': a .npy header of {} bytes; wanted at most {}; write the file again", name,
         length, kNpyHeaderMax);
  }
  if (bytes.size() - start < length) {
    fail(ErrorCode::malformed_input,
         "'{}' is truncated: its .npy header ends at byte {}, the file has {}; fetch it again", name, start + length,
         bytes.size());
  }
  *data_offset = start + length;
  return as_text(bytes.subspan(start, length));
}

/// Bits of the keys seen, so that a missing or doubled one is noticed.
enum Seen : unsigned { kDescr = 1, kOrder = 2, kShape = 4, kAll = 7 };

unsigned read_entry(PythonReader& reader, NpyHeader& header) {
  const std::string key = reader.string();
  reader.expect(':');
  if (key == "descr") {
    header.descr = reader.peek() == '[' ? reader.bracketed() : reader.string();
    return kDescr;
  }
  if (key == "fortran_order") {
    header.fortran_order = reader.boolean();
    return kOrder;
  }
  if (key == "shape") {
    header.shape = reader.tuple();
    return kShape;
  }
  reader.fail_wanting("only the keys descr, fortran_order and shape");
}

struct TypeRow {
  std::string_view kind;
  DType dtype;
};

constexpr TypeRow kTypes[] = {
    {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}, {"u1", DType::u8},
    {"i1", DType::i8},  {"i2", DType::i16}, {"u2", DType::u16}, {"i4", DType::i32},
    {"u4", DType::u32}, {"i8", DType::i64}, {"u8", DType::u64}, {"b1", DType::u8},
};

std::string_view why_refused(std::string_view descr) {
  const std::string_view kind = descr.find_first_of("<>|=") == 0 ? descr.substr(1) : descr;
  if (descr.starts_with('[')) return "a structured type has named fields; save one numeric field";
  if (kind.starts_with('O')) {
    return "Python objects would have to be unpickled; save a numeric array, e.g. x.astype('float32')";
  }
  if (kind == "V2") return "a bfloat16 array is saved by numpy without its type; save x.astype('float32')";
  if (kind.starts_with('V')) return "raw records have no numeric type; save a numeric array";
  if (kind.starts_with('c')) return "complex numbers have no place here; save real and imaginary parts as columns";
  if (kind.starts_with('f')) return "long double differs between machines; save x.astype('float64')";
  if (kind.starts_with('S') || kind.starts_with('U')) return "strings are not numbers; save a numeric array";
  if (kind.starts_with('M') || kind.starts_with('m')) {
    return "dates and spans are not plain numbers; save x.astype('int64')";
  }
  return "the type is not known; save it as float32, float64 or an integer type";
}

}  // namespace

bool has_npy_magic(Bytes bytes) noexcept { return as_text(bytes).starts_with(kMagic); }

NpyHeader parse_npy_header(Bytes bytes, const std::string& name) {
  NpyHeader header;
  PythonReader reader(header_text(bytes, name, &header.data_offset), name);
  unsigned seen = 0;
  reader.expect('{');
  while (!reader.take('}')) {
    const unsigned key = read_entry(reader, header);
    if ((seen & key) != 0) reader.fail_wanting("each key once");
    seen |= key;
    if (!reader.take(',') && reader.peek() != '}') reader.fail_wanting("',' or '}'");
  }
  if (seen != kAll) reader.fail_wanting("the keys descr, fortran_order and shape");
  if (!reader.at_end()) reader.fail_wanting("nothing after '}'");
  return header;
}

NpyType npy_type(const std::string& descr, const std::string& name) {
  const std::string_view kind = descr.empty() ? std::string_view{} : std::string_view(descr).substr(1);
  const auto* row = std::ranges::find(kTypes, kind, &TypeRow::kind);
  if (row == std::end(kTypes) || "<>|="sv.find(descr.front()) == std::string_view::npos) {
    fail(ErrorCode::unsupported, "'{}': element type '{}' is not read: {}", name, descr, why_refused(descr));
  }
  if (descr.front() == '>') return {row->dtype, std::endian::big};
  return {row->dtype, descr.front() == '<' ? std::endian::little : std::endian::native};
}

}  // namespace tessera::io
