// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

TEST(MappedFile, ShowsTheFilesBytes) {
  const TempFolder folder;
  const MappedFile file(folder.write("a", "hello"));
  EXPECT_EQ(as_text(file.bytes()), "hello");
}

TEST(MappedFile, MovesWithoutUnmapping) {
  const TempFolder folder;
  MappedFile first(folder.write("a", "hello"));
  MappedFile second(std::move(first));
  MappedFile third;
  third = std::move(second);
  EXPECT_EQ(as_text(third.bytes()), "hello");
}

TEST(MappedFile, MapsAnEmptyFileToNoBytes) {
  const TempFolder folder;
  EXPECT_TRUE(MappedFile(folder.write("a", "")).bytes().empty());
}

TEST(MappedFile, NamesTheMissingFileAndTheReason) {
  const std::string message = error_of(ErrorCode::io, [] { MappedFile("no/such/file.npy"); });
  EXPECT_CONTAINS(message, "no/such/file.npy");
  EXPECT_CONTAINS(message, "No such file");
}

TEST(MappedFile, RefusesFoldersAndPipes) {
  const TempFolder folder;
  EXPECT_CONTAINS(error_of(ErrorCode::io, [&] { MappedFile(folder.path("")); }), "directory");
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_CONTAINS(error_of(ErrorCode::io, [&] { MappedFile(folder.path("pipe")); }), "not a regular file");
}

TEST(MappedFile, NamesAMissingPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TempFolder folder;
  const std::string path = folder.write("a", "hello");
  ::chmod(path.c_str(), 0);
  EXPECT_CONTAINS(error_of(ErrorCode::io, [&] { MappedFile{path}; }), "Permission denied");
}

}  // namespace
}  // namespace tessera::io::test
