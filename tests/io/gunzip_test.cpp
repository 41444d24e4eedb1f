// SPDX-License-Identifier: Apache-2.0
#include "io/gunzip.hpp"

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

/// An IDX array [2, 3] of "abcdef": Python's gzip.compress(bytes([0,0,8,2, 0,0,0,2, 0,0,0,3]) + b"abcdef", mtime=0).
std::string packed() {
  constexpr unsigned char kBytes[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x63, 0x60,
                                      0xe0, 0x60, 0x62, 0x60, 0x60, 0x00, 0x61, 0xe6, 0xc4, 0xa4, 0xe4, 0x94,
                                      0xd4, 0x34, 0x00, 0x83, 0xda, 0x46, 0x2f, 0x12, 0x00, 0x00, 0x00};
  return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes)};
}

class Gunzip : public ::testing::Test {
  void SetUp() override {
    if (!can_gunzip()) GTEST_SKIP() << "built without zlib";
  }
};

TEST_F(Gunzip, UnpacksAStream) {
  const Unpacked content = gunzip(as_bytes(packed()), "x");
  EXPECT_TRUE(content.complete);
  EXPECT_EQ(content.bytes->size(), 18U);
  EXPECT_EQ(as_text(*content.bytes).substr(12), "abcdef");
}

TEST_F(Gunzip, JoinsStreamsInARow) {
  const Unpacked content = gunzip(as_bytes(packed() + packed()), "x");
  EXPECT_TRUE(content.complete);
  EXPECT_EQ(content.bytes->size(), 36U);
}

TEST_F(Gunzip, TellsATruncatedStream) {
  for (std::size_t size = 3; size < packed().size(); ++size) {
    EXPECT_FALSE(gunzip(as_bytes(packed().substr(0, size)), "x").complete) << size;
  }
}

TEST_F(Gunzip, RefusesBrokenData) {
  std::string bytes = packed();
  bytes[27] = static_cast<char>(~bytes[27]);  // the CRC
  EXPECT_CONTAINS(error_of(ErrorCode::malformed_input, [&] { gunzip(as_bytes(bytes), "x"); }), "broken gzip data");
}

TEST_F(Gunzip, ReadsIdxThroughASuffixOrItsContent) {
  const TempFolder folder;
  for (const std::string name : {"t10k-images-idx3-ubyte.gz", "a.idx.gz", "b.idx", "c-ubyte", "no-suffix"}) {
    const RowFile file = RowFile::open(folder.write(name, packed()));
    EXPECT_EQ(file.format(), "idx") << name;
    EXPECT_FALSE(file.mapped()) << name;
    EXPECT_EQ(elements<char>(file.rows()), (std::vector<char>{'a', 'b', 'c', 'd', 'e', 'f'})) << name;
  }
}

TEST_F(Gunzip, ReadsARangeOfATruncatedFileWithinItsWholeRows) {
  const std::string cut = packed().substr(0, 27);  // all content, without the trailer
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, cut, "idx"), "truncated");
  EXPECT_EQ(open_bytes(as_bytes(cut), "idx", range(0, 1)).rows().rows, 1);
}

TEST(GunzipFallback, TakesAnUnpackedFileNamedGz) {
  const TempFolder folder;
  const std::string bytes = std::string("\0\0\x08\1\0\0\0\2", 8) + "ab";
  EXPECT_EQ(RowFile::open(folder.write("labels-idx1-ubyte.gz", bytes)).rows().rows, 2);
}

TEST(GunzipFallback, SaysWhatIsMissingInABuildWithoutZlib) {
  if (can_gunzip()) GTEST_SKIP() << "built with zlib";
  EXPECT_CONTAINS(error_of(ErrorCode::unsupported, [] { gunzip(as_bytes(packed()), "x"); }), "no zlib");
}

}  // namespace
}  // namespace tessera::io::test
