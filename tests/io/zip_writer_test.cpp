// SPDX-License-Identifier: Apache-2.0
#include "io/zip_writer.hpp"

#include "fixtures.hpp"
#include "io/crc32.hpp"
#include "io/zip_archive.hpp"

namespace tessera::io::test {
namespace {

void write_two_members(const std::string& path, std::uint64_t zip64_from) {
  TempFile file(path);
  ZipWriter zip(file, zip64_from);
  zip.begin("a.txt", 5);
  zip.append(as_bytes("he"));
  zip.append(as_bytes("llo"));
  zip.end();
  zip.begin("empty", 0);
  zip.end();
  zip.finish();
  file.commit(true);
}

TEST(ZipWriter, WritesArchivesThatReadBackPlainOrZip64) {
  if (!can_unzip()) GTEST_SKIP() << "built without libzip";
  const TempFolder folder;
  // 0: everything as ZIP64; 6: offsets only; 2^32 - 1: as in earnest, nothing here.
  for (const std::uint64_t zip64_from : {std::uint64_t{0}, std::uint64_t{6}, std::uint64_t{0xffffffff}}) {
    write_two_members(folder.path("a.zip"), zip64_from);
    const std::string bytes = read_all(folder.path("a.zip"));
    const ZipArchive archive(as_bytes(bytes), "a.zip");
    EXPECT_EQ(archive.members(), (std::vector<std::string>{"a.txt", "empty"}));
    EXPECT_EQ(as_text(archive.read(0, 100)), "hello");
    EXPECT_EQ(as_text(archive.read(0, 2)), "he");
    EXPECT_TRUE(archive.read(1, 100).empty());
  }
}

TEST(ZipWriter, GivesTheSameBytesEveryTime) {
  const TempFolder folder;
  write_two_members(folder.path("a.zip"), 0xffffffff);
  write_two_members(folder.path("b.zip"), 0xffffffff);
  EXPECT_EQ(read_all(folder.path("a.zip")), read_all(folder.path("b.zip")));
  EXPECT_EQ(crc32_of(0, as_bytes("hello")),
            load_le<std::uint32_t>(as_bytes(read_all(folder.path("a.zip"))).data() + 14));
}

TEST(ZipWriter, RefusesMembersOfAnotherSizeThanAnnounced) {
  const TempFolder folder;
  TempFile file(folder.path("a.zip"));
  ZipWriter zip(file);
  zip.begin("a", 3);
  error_of(ErrorCode::internal, [&] { zip.append(as_bytes("four")); });
  zip.append(as_bytes("ab"));
  error_of(ErrorCode::internal, [&] { zip.end(); });
}

}  // namespace
}  // namespace tessera::io::test
