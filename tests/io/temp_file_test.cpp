// SPDX-License-Identifier: Apache-2.0
#include "io/temp_file.hpp"

#include <csignal>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

class TempFileTest : public ::testing::TestWithParam<TempName> {
 protected:
  TempFile make(const TempFolder& folder) const { return TempFile(folder.path("out.bin"), GetParam()); }
};

TEST_P(TempFileTest, HasItsNameOnlyAfterCommit) {
  const TempFolder folder;
  TempFile file = make(folder);
  file.append(as_bytes("hello"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("out.bin")));
  file.commit(false);
  EXPECT_EQ(read_all(folder.path("out.bin")), "hello");
  EXPECT_EQ(folder.count(), 1U);
}

TEST_P(TempFileTest, VanishesWithoutCommit) {
  const TempFolder folder;
  {
    TempFile file = make(folder);
    file.append(as_bytes("hello"));
    if (GetParam() == TempName::hidden) {
      EXPECT_CONTAINS(file.path(), "/.out.bin.tmp-");
      EXPECT_EQ(folder.count(), 1U);
    }
  }
  EXPECT_EQ(folder.count(), 0U);
}

TEST_P(TempFileTest, ReplacesEarlierBytesBufferedOrNot) {
  const TempFolder folder;
  TempFile file = make(folder);
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

TEST_P(TempFileTest, LeavesAnExistingFileAloneUnlessToldOtherwise) {
  const TempFolder folder;
  folder.write("out.bin", "old");
  {
    TempFile file = make(folder);
    EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { file.commit(false); }), "--force");
  }
  EXPECT_EQ(read_all(folder.path("out.bin")), "old");
  TempFile file = make(folder);
  file.append(as_bytes("new"));
  file.commit(true);
  EXPECT_EQ(read_all(folder.path("out.bin")), "new");
  EXPECT_EQ(folder.count(), 1U);
}

TEST_P(TempFileTest, HonoursTheUmask) {
  const TempFolder folder;
  const mode_t before = ::umask(027);
  TempFile file = make(folder);
  file.commit(false);
  ::umask(before);
  struct stat info{};
  ASSERT_EQ(::stat(folder.path("out.bin").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST_P(TempFileTest, NamesAMissingFolder) {
  EXPECT_CONTAINS(error_of(ErrorCode::io, [] { TempFile("no/such/folder/out.bin", GetParam()); }),
                  "No such file or directory");
}

TEST_P(TempFileTest, CanBeWrittenThroughItsPath) {
  const TempFolder folder;
  TempFile file = make(folder);
  std::ofstream(file.path(), std::ios::binary) << "by another hand";
  file.commit(false);
  EXPECT_EQ(read_all(folder.path("out.bin")), "by another hand");
}

TEST_P(TempFileTest, LeavesNothingBehindWhenAWriteFails) {
  const TempFolder folder;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // so that the write fails instead of ending the process
  const rlimit tight{1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const std::string message = error_of(ErrorCode::io, [&] {
    TempFile file = make(folder);
    file.append(as_bytes(std::string(3 << 20, 'a')));
    file.commit(false);
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_CONTAINS(message, "File too large");
  EXPECT_EQ(folder.count(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Names, TempFileTest, ::testing::Values(TempName::none_if_possible, TempName::hidden),
                         [](const auto& p) { return p.param == TempName::hidden ? "hidden" : "none_if_possible"; });

TEST(TempFile, HasNoNameWhereTheFileSystemCan) {
  const TempFolder folder;
  TempFile file(folder.path("out.bin"));
  if (!file.path().starts_with("/proc/")) GTEST_SKIP() << "no O_TMPFILE on this file system";
  file.append(as_bytes("hello"));
  EXPECT_EQ(folder.count(), 0U);
}

}  // namespace
}  // namespace tessera::io::test
