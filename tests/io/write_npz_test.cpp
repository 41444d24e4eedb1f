// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"
#include "io/zip_archive.hpp"
#include "lists.hpp"

namespace tessera::io::test {
namespace {

class WriteNpz : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_unzip()) GTEST_SKIP() << "built without libzip: the Python check still reads the file";
  }
  TempFolder folder_;
};

TEST_F(WriteNpz, WritesIdsAndDistances) {
  const std::string path = folder_.path("a.npz");
  write_neighbours(path, small_lists());
  EXPECT_EQ(elements<std::int64_t>(RowFile::open(path + ":ids").rows()), small_lists().ids);
  EXPECT_EQ(elements<float>(RowFile::open(path + ":distances").rows()), small_lists().distances);
}

TEST_F(WriteNpz, WritesDoublesAndInt32WhenAsked) {
  const std::string path = folder_.path("a.npz");
  write_neighbours(path, wide_lists(), {.format = "", .ids_int32 = true});
  EXPECT_EQ(RowFile::open(path + ":ids").rows().dtype, DType::i32);
  EXPECT_EQ(elements<double>(RowFile::open(path + ":distances").rows()), wide_lists().distances64);
}

}  // namespace
}  // namespace tessera::io::test
