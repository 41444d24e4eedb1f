// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <unistd.h>

#include "fixtures.hpp"
#include "lists.hpp"

namespace tessera::io::test {
namespace {

TEST(WriteNeighbours, WritesTheSameBytesEveryTime) {
  const TempFolder folder;
  for (const std::string& suffix : writable_formats()) {
    write_neighbours(folder.path("a" + suffix), small_lists());
    write_neighbours(folder.path("b" + suffix), small_lists());
    EXPECT_EQ(read_all(folder.path("a" + suffix)), read_all(folder.path("b" + suffix))) << suffix;
  }
  EXPECT_EQ(folder.count(), 2 * writable_formats().size());
}

TEST(WriteNeighbours, RefusesAnExistingFileUntilForced) {
  const TempFolder folder;
  const std::string path = folder.write("a.npy", "old");
  for (const auto& action : {std::function<void()>([&] { check_writable(path); }),
                             std::function<void()>([&] { write_neighbours(path, small_lists()); })}) {
    EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, action), "--force");
  }
  EXPECT_EQ(read_all(path), "old");
  check_writable(path, {.format = "", .overwrite = true});
  write_neighbours(path, small_lists(), {.format = "", .overwrite = true});
  EXPECT_EQ(RowFile::open(path).rows().rows, 3);
}

TEST(WriteNeighbours, RefusesUnknownSuffixesListingTheKnown) {
  const TempFolder folder;
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { check_writable(folder.path("a.png")); }), ".npy, .ibin");
  EXPECT_CONTAINS(
      error_of(ErrorCode::invalid_argument, [&] { check_writable(folder.path("a.npy"), {.format = "png"}); }), "'png'");
  write_neighbours(folder.path("a.png"), small_lists(), {.format = "npy"});
  EXPECT_EQ(RowFile::open(folder.path("a.png")).format(), "npy");
}

TEST(WriteNeighbours, RefusesMissingAndUnwritableFolders) {
  const TempFolder folder;
  EXPECT_CONTAINS(error_of(ErrorCode::io, [&] { check_writable(folder.path("none/a.npy")); }), "No such file");
  folder.write("file", "x");
  EXPECT_CONTAINS(error_of(ErrorCode::io, [&] { check_writable(folder.path("file/a.npy")); }), "not a folder");
  if (::geteuid() == 0) return;  // root may write everywhere
  std::filesystem::permissions(folder.path(""),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_CONTAINS(error_of(ErrorCode::io, [&] { check_writable(folder.path("a.npy")); }), "Permission denied");
  std::filesystem::permissions(folder.path(""), std::filesystem::perms::owner_all);
}

TEST(WriteNeighbours, NeverReplacesAFolderOrADevice) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("a.npy"));
  error_of(ErrorCode::invalid_argument,
           [&] { check_writable(folder.path("a.npy"), {.format = "", .overwrite = true}); });
  error_of(ErrorCode::invalid_argument, [] { check_writable("/dev/null", {.format = "npy", .overwrite = true}); });
}

TEST(WriteNeighbours, RefusesIdsThatInt32CannotHold) {
  const TempFolder folder;
  Neighbours lists = small_lists();
  lists.ids[3] = 2147483648;
  for (const std::string name : {"a.ibin", "a.ivecs"}) {
    EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { write_neighbours(folder.path(name), lists); }),
                    "2147483648");
  }
  error_of(ErrorCode::invalid_argument,
           [&] { write_neighbours(folder.path("a.npz"), lists, {.format = "", .ids_int32 = true}); });
  EXPECT_EQ(folder.count(), 0U);
  write_neighbours(folder.path("a.npz"), lists);
}

TEST(WriteNeighbours, RefusesListsWhoseLengthsDisagree) {
  const TempFolder folder;
  Neighbours lists = small_lists();
  lists.distances.pop_back();
  error_of(ErrorCode::invalid_argument, [&] { write_neighbours(folder.path("a.npz"), lists); });
  lists.ids.pop_back();
  error_of(ErrorCode::invalid_argument, [&] { write_neighbours(folder.path("a.npy"), lists); });
}

TEST(WriteNeighbours, WritesNoQueriesAtAll) {
  const TempFolder folder;
  for (const std::string& suffix : writable_formats()) write_neighbours(folder.path("a" + suffix), lists_of(0, 4));
  EXPECT_EQ(RowFile::open(folder.path("a.npy")).rows().cols, 4);
  EXPECT_EQ(read_all(folder.path("a.csv")), "query,rank,id,distance\n");
}

}  // namespace
}  // namespace tessera::io::test
