// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

TEST(Bytes, LoadsNumbersOfEitherByteOrder) {
  const std::string text = "\x01\x02\x03\x04\x05\x06\x07\xf8";
  const std::byte* p = as_bytes(text).data();
  EXPECT_EQ(load_le<std::uint16_t>(p), 0x0201);
  EXPECT_EQ(load_be<std::uint16_t>(p), 0x0102);
  EXPECT_EQ(load_le<std::uint32_t>(p + 1), 0x05040302U);
  EXPECT_EQ(load_le<std::uint64_t>(p), 0xf807060504030201U);
  EXPECT_EQ(load_be<std::uint64_t>(p), 0x01020304050607f8U);
}

TEST(Bytes, AppendsWhatItLoads) {
  std::string out;
  append_le<std::uint64_t>(out, 0xf807060504030201U);
  append_le<std::uint16_t>(out, 0xfffe);
  EXPECT_EQ(load_le<std::uint64_t>(as_bytes(out).data()), 0xf807060504030201U);
  EXPECT_EQ(load_le<std::uint16_t>(as_bytes(out).data() + 8), 0xfffe);
}

TEST(Bytes, SwapsNothingOfOneByte) {
  EXPECT_FALSE(is_swapped(std::endian::big, DType::u8));
  EXPECT_NE(is_swapped(std::endian::big, DType::f32), is_swapped(std::endian::little, DType::f32));
}

}  // namespace
}  // namespace tessera::io::test
