// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

const std::string kFbin = bytes_of<std::uint32_t>({3, 2}) + bytes_of<float>({1, 2, 3, 4, 5, 6});

TEST(RowFile, MapsAFileByItsSuffix) {
  const TempFolder folder;
  const std::string path = folder.write("base.FBIN", kFbin);
  const RowFile file = RowFile::open(path);
  EXPECT_TRUE(file.mapped());
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(file.format(), "fbin");
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(RowFile, StaysValidWhenMoved) {
  const TempFolder folder;
  RowFile first = RowFile::open(folder.write("base.fbin", kFbin));
  const RowFile second = std::move(first);
  EXPECT_EQ(element<float>(second.rows(), 2, 1), 6.0F);
}

TEST(RowFile, TakesTheFormatAskedForOverTheSuffix) {
  const TempFolder folder;
  EXPECT_EQ(RowFile::open(folder.write("base.npy", kFbin), {.format = "fbin"}).rows().rows, 3);
  const std::string message =
      error_of(ErrorCode::invalid_argument, [&] { RowFile::open(folder.path("base.npy"), {.format = "png"}); });
  EXPECT_CONTAINS(message, "'png'");
  EXPECT_CONTAINS(message, ".fvecs");
}

TEST(RowFile, TellsNpyByItsContentWhenTheSuffixSaysNothing) {
  const TempFolder folder;
  const std::string bytes = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2)}", "ab");
  EXPECT_EQ(RowFile::open(folder.write("array", bytes)).format(), "npy");
}

TEST(RowFile, ListsTheFormatsForAnUnknownSuffix) {
  const TempFolder folder;
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { RowFile::open(folder.write("a.qqq", "abc")); }), ".fbin");
}

TEST(RowFile, RefusesEmptyFilesAsMalformed) {
  const TempFolder folder;
  for (const std::string name :
       {"a.npy", "a.npz", "a.fbin", "a.fvecs", "a.idx", "a.csv", "a.safetensors", "a.h5", "a"}) {
    EXPECT_CONTAINS(error_of(ErrorCode::malformed_input, [&] { RowFile::open(folder.write(name, "")); }), "is empty");
  }
}

TEST(RowFile, NamesAMissingFileAsGiven) {
  EXPECT_CONTAINS(error_of(ErrorCode::io, [] { RowFile::open("none.fbin"); }), "'none.fbin': No such file");
  EXPECT_CONTAINS(error_of(ErrorCode::io, [] { RowFile::open("none.npz:emb"); }), "'none.npz': No such file");
}

TEST(RowFile, OpensAFileWhoseNameHasAColon) {
  const TempFolder folder;
  EXPECT_EQ(RowFile::open(folder.write("a:b.fbin", kFbin)).rows().rows, 3);
}

TEST(RowFile, RefusesANameInsideAFileOfOneArray) {
  const TempFolder folder;
  const std::string path = folder.write("a.fbin", kFbin);
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { RowFile::open(path + ":emb"); }), "leave ':emb' out");
}

}  // namespace
}  // namespace tessera::io::test
