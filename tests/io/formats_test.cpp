// SPDX-License-Identifier: Apache-2.0
#include "io/format.hpp"

#include <set>

#include "fixtures.hpp"
#include "lists.hpp"
#include "support/config.hpp"

namespace tessera::io::test {
namespace {

TEST(Formats, AreFoundByNameAndSuffix) {
  EXPECT_EQ(find_by_name("fbin")->name, "fbin");
  EXPECT_EQ(find_by_name("hbin")->name, "f16bin");
  EXPECT_EQ(find_by_name("txt")->name, "csv");
  EXPECT_EQ(find_by_name(""), nullptr);
  EXPECT_EQ(find_by_suffix("x/train-images-idx3-ubyte")->name, "idx");
  EXPECT_EQ(find_by_suffix("BASE.FVECS")->name, "fvecs");
  EXPECT_EQ(find_by_suffix("base"), nullptr);
}

TEST(Formats, HaveNamesAndSuffixesOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> suffixes;
  for (const Format* format : all_formats()) {
    EXPECT_TRUE(names.insert(format->name).second) << format->name;
    EXPECT_NE(format->read, nullptr) << format->name;
    for (const std::string_view suffix : format->suffixes) {
      EXPECT_TRUE(suffix.empty() || suffixes.insert(suffix).second) << suffix;
    }
  }
}

TEST(Formats, AreListedForHelpTexts) {
  const std::vector<std::string> readable = readable_formats();
  EXPECT_NE(std::ranges::find(readable, ".npy"), readable.end());
  std::vector<std::string> wanted = {".npz", ".h5", ".npy", ".ibin", ".ivecs", ".csv"};
  if (!TESSERA_HAVE_HDF5) std::erase(wanted, ".h5");
  EXPECT_EQ(writable_formats(), wanted);
}

/// Reads every byte of every element, so that a sanitizer notices a view that leaves its bytes.
unsigned touch(const RowSet& rows) {
  unsigned sum = 0;
  for (Index i = 0; i < rows.rows; ++i) {
    for (Index j = 0; j < rows.cols; ++j) {
      const std::byte* p = rows.row(i) + j * rows.col_stride;
      for (std::size_t b = 0; b < size_of(rows.dtype); ++b) sum += static_cast<unsigned>(p[b]);
    }
  }
  return sum;
}

/// Opens bytes that may be anything: rows that can be read, or an Error, and nothing else.
void try_open(const std::string& bytes, std::string_view format) {
  // A copy of exactly this size, so that reading past its end is noticed.
  const std::vector<std::byte> exact(as_bytes(bytes).begin(), as_bytes(bytes).end());
  try {
    const RowFile file = open_bytes(exact, format);
    EXPECT_GE(file.rows().cols, 1);
    touch(file.rows());
  } catch (const Error&) {
  }
}

TEST(Formats, RefuseRandomBytesWithAnErrorAndNothingElse) {
  std::uint64_t state = 88172645463325252U;  // xorshift64's usual seed
  const auto random_byte = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<char>(state >> 32 & ((state & 0x100) != 0 ? 0xff : 0x03));  // many small counts
  };
  for (const Format* format : all_formats()) {
    for (int round = 0; round < 2000; ++round) {
      std::string bytes(static_cast<std::size_t>(round % 61), '\0');
      for (char& c : bytes) c = random_byte();
      try_open(bytes, format->name);
    }
  }
}

TEST(Formats, SurviveEveryChangedByteOfAGoodFile) {
  const TempFolder folder;
  std::pair<std::string, std::string> files[] = {
      {"npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", std::string(16, 'x'))},
      {"fbin", bytes_of<std::uint32_t>({2, 2}) + std::string(16, 'x')},
      {"fvecs", bytes_of<std::uint32_t>({1, 7, 1, 8})},
      {"idx", std::string("\0\0\x0d\2\0\0\0\2\0\0\0\2", 12) + std::string(16, 'x')},
      {"csv", "a,b\n1,2\n3,4\n"},
      {"safetensors",
       safetensors(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})", std::string(16, 'x'))},
      {"npz:ids", ""},
  };
  write_neighbours(folder.path("a.npz"), small_lists());
  std::rbegin(files)->second = read_all(folder.path("a.npz"));
  for (const auto& [format, bytes] : files) {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const char value : {'\0', '\1', '\x7f', '\xff', '(', static_cast<char>(bytes[at] + 1)}) {
        std::string changed = bytes;
        changed[at] = value;
        try_open(changed, format);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::io::test
