// SPDX-License-Identifier: Apache-2.0
#include "io/temp_file.hpp"

#include <csignal>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

TEST(TempFile, HasItsNameOnlyAfterCommit) {
  const TempFolder folder;
  TempFile file(folder.path("out.bin"));
  EXPECT_CONTAINS(file.path(), "/.out.bin.tmp-");
  file.append(as_bytes("hello"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("out.bin")));
  file.commit(false);
  EXPECT_EQ(read_all(folder.path("out.bin")), "hello");
  EXPECT_EQ(folder.count(), 1U);
}

TEST(TempFile, VanishesWithoutCommit) {
  const TempFolder folder;
  {
    TempFile file(folder.path("out.bin"));
    file.append(as_bytes("hello"));
    EXPECT_EQ(folder.count(), 1U);
  }
  EXPECT_EQ(folder.count(), 0U);
}

TEST(TempFile, ReplacesEarlierBytesBufferedOrNot) {
  const TempFolder folder;
  TempFile file(folder.path("out.bin"));
  const std::string large((1 << 20) + 5, 'a');
  file.append(as_bytes(large));
  file.write_at(2, as_bytes("X"));
  file.write_at(large.size() - 1, as_bytes("Y"));
  file.append(as_bytes("end"));
  EXPECT_EQ(file.size(), large.size() + 3);
  file.commit(false);
  std::string want = large + "end";
  want[2] = 'X';
  want[large.size() - 1] = 'Y';
  EXPECT_TRUE(read_all(folder.path("out.bin")) == want);
}

TEST(TempFile, LeavesAnExistingFileAloneUnlessToldOtherwise) {
  const TempFolder folder;
  folder.write("out.bin", "old");
  {
    TempFile file(folder.path("out.bin"));
    EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { file.commit(false); }), "--force");
  }
  EXPECT_EQ(read_all(folder.path("out.bin")), "old");
  TempFile file(folder.path("out.bin"));
  file.append(as_bytes("new"));
  file.commit(true);
  EXPECT_EQ(read_all(folder.path("out.bin")), "new");
}

TEST(TempFile, HonoursTheUmask) {
  const TempFolder folder;
  const mode_t before = ::umask(027);
  TempFile file(folder.path("out.bin"));
  file.commit(false);
  ::umask(before);
  struct stat info{};
  ASSERT_EQ(::stat(folder.path("out.bin").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST(TempFile, NamesAMissingFolder) {
  EXPECT_CONTAINS(error_of(ErrorCode::io, [] { TempFile("no/such/folder/out.bin"); }), "No such file or directory");
}

TEST(TempFile, LeavesNothingBehindWhenAWriteFails) {
  const TempFolder folder;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // so that the write fails instead of ending the process
  const rlimit tight{1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const std::string message = error_of(ErrorCode::io, [&] {
    TempFile file(folder.path("out.bin"));
    file.append(as_bytes(std::string(3 << 20, 'a')));
    file.commit(false);
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_CONTAINS(message, "File too large");
  EXPECT_EQ(folder.count(), 0U);
}

}  // namespace
}  // namespace tessera::io::test
