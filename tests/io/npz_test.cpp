// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"
#include "io/zip_archive.hpp"
#include "io/zip_writer.hpp"

namespace tessera::io::test {
namespace {

const std::string kMatrix =
    npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", bytes_of<float>({1, 2, 3, 4}));
const std::string kVector =
    npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", bytes_of<std::int32_t>({7, 8}));
const std::string kObjects = npy("{'descr': '|O', 'fortran_order': False, 'shape': (2, 2)}", "pickle");

std::string npz(std::initializer_list<std::pair<std::string, std::string>> members) {
  const TempFolder folder;
  TempFile file(folder.path("a.npz"));
  ZipWriter zip(file, 0);  // ZIP64 throughout, as numpy forces it
  for (const auto& [name, bytes] : members) {
    zip.begin(name, bytes.size());
    zip.append(as_bytes(bytes));
    zip.end();
  }
  zip.finish();
  file.commit(false);
  return read_all(folder.path("a.npz"));
}

class Npz : public ::testing::Test {
  void SetUp() override {
    if (!can_unzip()) GTEST_SKIP() << "built without libzip";
  }
};

TEST_F(Npz, TakesTheOnlyTwoDimensionalArray) {
  const std::string bytes = npz({{"labels.npy", kVector}, {"emb.npy", kMatrix}, {"notes.txt", "hello"}});
  const RowFile file = open_bytes(as_bytes(bytes), "npz");
  EXPECT_EQ(file.format(), "npz");
  EXPECT_FALSE(file.mapped());
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(Npz, TakesTheOnlyArrayOfAnyShape) {
  const std::string bytes = npz({{"labels.npy", kVector}});
  EXPECT_EQ(elements<std::int32_t>(open_bytes(as_bytes(bytes), "").rows()), (std::vector<std::int32_t>{7, 8}));
}

TEST_F(Npz, PicksAMemberByName) {
  const TempFolder folder;
  const std::string path = folder.write("x.npz", npz({{"a.npy", kMatrix}, {"b.npy", kVector}, {"c.npy", kMatrix}}));
  EXPECT_EQ(RowFile::open(path + ":b").rows().dtype, DType::i32);
  EXPECT_EQ(RowFile::open(path + ":c.npy", range(1)).rows().first_id, 1);
  EXPECT_EQ(RowFile::open(path + ":c").path(), path + ":c");
}

TEST_F(Npz, ListsItsArraysWhenTheNameIsMissingOrWrong) {
  const std::string bytes = npz({{"a.npy", kMatrix}, {"b.npy", kVector}, {"c.npy", kObjects}});
  EXPECT_CONTAINS(open_error(ErrorCode::invalid_argument, bytes, "npz"), "a <f4 (2, 2), b <i4 (2,), c |O (2, 2)");
  EXPECT_CONTAINS(open_error(ErrorCode::invalid_argument, bytes, "npz:d"), "no array named 'd'");
  EXPECT_CONTAINS(open_error(ErrorCode::unsupported, bytes, "npz:c"), "unpickled");
  EXPECT_CONTAINS(open_error(ErrorCode::invalid_argument, npz({}), "npz"), "no arrays");
}

TEST_F(Npz, RefusesTruncatedArchives) {
  const std::string bytes = npz({{"a.npy", kMatrix}});
  for (std::size_t size = 1; size < bytes.size(); size += 7) {
    open_error(ErrorCode::malformed_input, bytes.substr(0, size), "npz");
  }
}

TEST_F(Npz, ChecksTheCrcOfTheArray) {
  std::string bytes = npz({{"a.npy", kMatrix}});
  bytes[bytes.find(kMatrix) + kMatrix.size() - 1] ^= 1;
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "npz"), "CRC");
}

TEST_F(Npz, NamesTheMemberInMessages) {
  const std::string bytes = npz({{"a.npy", kMatrix.substr(0, kMatrix.size() - 1)}});
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes, "npz"), ":a' is truncated");
}

TEST(NpzFallback, SaysWhatIsMissingInABuildWithoutLibzip) {
  if (can_unzip()) GTEST_SKIP() << "built with libzip";
  EXPECT_CONTAINS(open_error(ErrorCode::unsupported, npz({{"a.npy", kMatrix}}), "npz"), "no libzip");
}

}  // namespace
}  // namespace tessera::io::test
