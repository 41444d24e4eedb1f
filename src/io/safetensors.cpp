// SPDX-License-Identifier: Apache-2.0
// safetensors: u64 N, N bytes of JSON, then the tensors' bytes. The JSON maps a name to
// {"dtype": "F32", "shape": [n, d], "data_offsets": [begin, end]}, offsets counted from the end of the JSON. Tensors
// are viewed where they lie. Nothing in the JSON is trusted.
#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "io/container.hpp"
#include "io/format.hpp"
#include "io/layout.hpp"
#include "io/looks_like.hpp"
#include "support/fail.hpp"

namespace tessera::io {

namespace {

using nlohmann::json;
using support::fail;

// The reference implementation's own limit (MAX_HEADER_SIZE): a longer header is a lie, and would be parsed.
constexpr std::uint64_t kHeaderMax = 100'000'000;
constexpr std::uint64_t kStart = 8;  // bytes of N

struct TypeRow {
  std::string_view name;
  DType dtype;
};

constexpr TypeRow kTypes[] = {
    {"F64", DType::f64}, {"F32", DType::f32}, {"F16", DType::f16}, {"BF16", DType::bf16}, {"I8", DType::i8},
    {"U8", DType::u8},   {"I16", DType::i16}, {"U16", DType::u16}, {"I32", DType::i32},   {"U32", DType::u32},
    {"I64", DType::i64}, {"U64", DType::u64}, {"BOOL", DType::u8},
};

/// One tensor as its entry promises it.
struct Tensor {
  ArrayEntry entry;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

[[noreturn]] void fail_header(const Input& input, std::string_view what, std::string_view where) {
  fail(ErrorCode::malformed_input, "'{}': broken safetensors header: {}; wanted {}; fetch or write it again",
       input.name, where, what);
}

/// The JSON's text; throws unless N lies within the file.
std::string_view header_text(const Input& input) {
  const std::uint64_t have = input.bytes.size();
  if (have < kStart) {
    fail(ErrorCode::malformed_input, "'{}' is truncated: a safetensors file starts with 8 bytes, the file has {}{}",
         input.name, have, looks_like(input.bytes, input.format).text);
  }
  const auto length = load_le<std::uint64_t>(input.bytes.data());
  if (length > kHeaderMax) {
    fail(ErrorCode::malformed_input, "'{}': a safetensors header of {} bytes; wanted at most {}{}", input.name, length,
         kHeaderMax, looks_like(input.bytes, input.format).text);
  }
  if (length > have - kStart) {
    fail(ErrorCode::malformed_input, "'{}' is truncated: its safetensors header ends at byte {}, the file has {}{}",
         input.name, kStart + length, have, looks_like(input.bytes, input.format).text);
  }
  return as_text(input.bytes.subspan(kStart, length));
}

/// The numbers of a JSON list; nothing unless all are whole and not negative.
std::optional<std::vector<std::uint64_t>> counts_of(const json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) return std::nullopt;
  std::vector<std::uint64_t> counts;
  for (const json& value : *found) {
    if (!value.is_number_unsigned()) return std::nullopt;
    counts.push_back(value.get<std::uint64_t>());
  }
  return counts;
}

Tensor read_entry(const Input& input, const std::string& name, const json& entry) {
  const std::string where = "tensor '" + printable(name) + "'";
  if (!entry.is_object()) fail_header(input, "an object", where);
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) fail_header(input, "a dtype", where);
  const auto shape = counts_of(entry, "shape");
  if (!shape) fail_header(input, "a shape of counts", where);
  const auto offsets = counts_of(entry, "data_offsets");
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1]) {
    fail_header(input, "two data_offsets, the second not smaller", where);
  }
  return {.entry = {.name = name, .type = dtype->get<std::string>(), .shape = *shape},
          .begin = (*offsets)[0],
          .end = (*offsets)[1]};
}

std::vector<Tensor> read_tensors(const Input& input) {
  const std::string_view text = header_text(input);
  const json header = json::parse(text.begin(), text.end(), nullptr, false);
  if (!header.is_object()) fail_header(input, "a JSON object", "not one, or cut short");
  std::vector<Tensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") tensors.push_back(read_entry(input, name, entry));
  }
  return tensors;
}

DType dtype_of(const Tensor& tensor, const std::string& name) {
  const auto row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                [&](const TypeRow& candidate) { return candidate.name == tensor.entry.type; });
  if (row == std::end(kTypes)) {
    fail(ErrorCode::unsupported, "'{}': element type '{}' is not read; save the tensor as F32, F16, BF16 or integers",
         name, printable(tensor.entry.type));
  }
  return row->dtype;
}

/// Throws unless the offsets span exactly what dtype and shape promise.
void check_span(const Input& input, const Tensor& tensor, DType dtype) {
  std::uint64_t size = size_of(dtype);
  bool fits = true;
  for (const std::uint64_t count : tensor.entry.shape) fits = !__builtin_mul_overflow(size, count, &size) && fits;
  if (fits && size == tensor.end - tensor.begin) return;
  fail(ErrorCode::malformed_input, "'{}': {} {} need {} bytes, its data_offsets {}:{} span {}; write it again",
       input.name, tensor.entry.type, shape_text(tensor.entry.shape), fits ? std::to_string(size) : "more than 2^64",
       tensor.begin, tensor.end, tensor.end - tensor.begin);
}

Decoded read_safetensors(const Input& input) {
  const std::vector<Tensor> tensors = read_tensors(input);
  std::vector<ArrayEntry> entries;
  for (const Tensor& tensor : tensors) entries.push_back(tensor.entry);
  const Tensor& tensor =
      tensors[choose_array(entries, {.file = input.name, .wanted = input.member, .preferred = {}})];

  Input inner = input;
  inner.name = input.name + ":" + printable(tensor.entry.name);
  const DType dtype = dtype_of(tensor, inner.name);
  const std::vector<std::uint64_t>& shape = tensor.entry.shape;
  if (shape.empty() || shape.size() > 2) {
    fail(ErrorCode::unsupported, "'{}': shape {}; wanted rows [n, d] or [n]; reshape it, e.g. x.reshape(len(x), -1)",
         inner.name, shape_text(shape));
  }
  check_span(inner, tensor, dtype);
  const std::uint64_t data = kStart + load_le<std::uint64_t>(input.bytes.data());
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  if (__builtin_add_overflow(data, tensor.begin, &offset) || __builtin_add_overflow(data, tensor.end, &end)) {
    fail_header(inner, "offsets below 2^64", "data_offsets");
  }
  // The file as if it ended with this tensor: a shorter one is truncated, and a prefix of it may still be read.
  inner.bytes = input.bytes.first(std::min<std::uint64_t>(input.bytes.size(), end));
  return view_rows(inner, {.dtype = dtype,
                           .offset = offset,
                           .rows = shape[0],
                           .cols = shape.size() == 1 ? 1 : shape[1]});
}

bool sniff_safetensors(Bytes bytes) noexcept {
  if (bytes.size() < kStart + 2) return false;
  const auto length = load_le<std::uint64_t>(bytes.data());
  return length >= 2 && length <= std::min<std::uint64_t>(kHeaderMax, bytes.size() - kStart) &&
         bytes[kStart] == std::byte{'{'};
}

constexpr Format kFormats[] = {
    {.name = "safetensors",
     .suffixes = {".safetensors"},
     .read = read_safetensors,
     .sniff = sniff_safetensors,
     .container = true},
};

}  // namespace

std::span<const Format> safetensors_formats() noexcept { return kFormats; }

}  // namespace tessera::io
