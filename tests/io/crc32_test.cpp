// SPDX-License-Identifier: Apache-2.0
#include "io/crc32.hpp"

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

TEST(Crc32, GivesTheStandardCheckValue) {
  EXPECT_EQ(crc32_of(0, as_bytes("123456789")), 0xcbf43926U);  // the check value of CRC-32/ISO-HDLC
  EXPECT_EQ(crc32_by_table(0, as_bytes("123456789")), 0xcbf43926U);
  EXPECT_EQ(crc32_of(0, as_bytes("")), 0U);
}

TEST(Crc32, ContinuesWhereItStopped) {
  EXPECT_EQ(crc32_by_table(crc32_by_table(0, as_bytes("1234")), as_bytes("56789")), 0xcbf43926U);
  EXPECT_EQ(crc32_of(crc32_of(0, as_bytes("1234")), as_bytes("56789")), 0xcbf43926U);
}

}  // namespace
}  // namespace tessera::io::test
