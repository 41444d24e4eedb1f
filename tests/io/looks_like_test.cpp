// SPDX-License-Identifier: Apache-2.0
#include "io/looks_like.hpp"

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

std::string guess(const std::string& bytes, std::string_view format = "") {
  return looks_like(as_bytes(bytes), format).text;
}

TEST(LooksLike, KnowsMagicNumbers) {
  EXPECT_CONTAINS(guess("\x93NUMPY\x01"), ".npy");
  EXPECT_CONTAINS(guess("PK\x03\x04"), ".npz");
  EXPECT_CONTAINS(guess("\x1f\x8b\x08"), ".gz");
  EXPECT_CONTAINS(guess("\x89HDF\r\n\x1a\n"), "HDF5");
  EXPECT_CONTAINS(guess("<!DOCTYPE html>"), "web page");
}

TEST(LooksLike, SaysNothingWithoutAReason) {
  EXPECT_EQ(guess(""), "");
  EXPECT_EQ(guess("abc"), "");
  EXPECT_EQ(guess("some ordinary text that is no format at all"), "");
}

TEST(LooksLike, NeverNamesTheFormatAlreadyRuledOut) {
  EXPECT_EQ(guess("\x93NUMPY\x01", "npy"), "");
  EXPECT_EQ(guess("PK\x03\x04", "npz"), "");
  const std::string fbin = bytes_of<std::uint32_t>({1, 2}) + std::string(8, 'x');
  EXPECT_EQ(guess(fbin, "fbin"), "");
  EXPECT_CONTAINS(guess(fbin, "fvecs"), ".fbin");
}

TEST(LooksLike, IsOnlySureOfMagicAndAgreeingRows) {
  const std::string bvecs = bytes_of<std::int32_t>({1}) + "a" + bytes_of<std::int32_t>({1}) + "b";
  EXPECT_TRUE(looks_like(as_bytes(bvecs), "fbin").sure);
  const std::string bin = bytes_of<std::uint32_t>({5, 3}) + std::string(15, 'x');
  EXPECT_CONTAINS(guess(bin, "fbin"), ".u8bin");
  EXPECT_FALSE(looks_like(as_bytes(bin), "fbin").sure);
}

}  // namespace
}  // namespace tessera::io::test
