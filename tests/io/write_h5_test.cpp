// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"
#include "lists.hpp"
#include "support/config.hpp"

namespace tessera::io::test {
namespace {

class WriteH5 : public ::testing::Test {
  void SetUp() override {
    if (!TESSERA_HAVE_HDF5) GTEST_SKIP() << "built without libhdf5";
  }
};

TEST_F(WriteH5, WritesListsUnderTheNamesOfAnnBenchmarks) {
  const TempFolder folder;
  for (const std::string name : {"nn.h5", "nn.hdf5"}) {
    write_neighbours(folder.path(name), small_lists());
    const RowFile ids = RowFile::open(folder.path(name) + ":neighbors");
    EXPECT_TRUE(ids.mapped());
    EXPECT_EQ(elements<std::int64_t>(ids.rows()), small_lists().ids);
    EXPECT_EQ(elements<float>(RowFile::open(folder.path(name) + ":distances").rows()), small_lists().distances);
  }
  EXPECT_EQ(folder.count(), 2U);
}

TEST_F(WriteH5, WritesNarrowIdsAndWideDistancesWhenAsked) {
  const TempFolder folder;
  write_neighbours(folder.path("nn.h5"), wide_lists(), {.format = "", .ids_int32 = true});
  EXPECT_EQ(elements<std::int32_t>(RowFile::open(folder.path("nn.h5") + ":neighbors").rows()),
            (std::vector<std::int32_t>{5, 7, 0, 2147483647, 3, -1}));
  EXPECT_EQ(elements<double>(RowFile::open(folder.path("nn.h5") + ":distances").rows()), wide_lists().distances64);
}

TEST_F(WriteH5, GivesEqualBytesForEqualLists) {
  const TempFolder folder;
  write_neighbours(folder.path("a.h5"), small_lists());
  write_neighbours(folder.path("b.h5"), small_lists());
  EXPECT_EQ(read_all(folder.path("a.h5")), read_all(folder.path("b.h5")));
}

TEST_F(WriteH5, WritesNoListsToo) {
  const TempFolder folder;
  write_neighbours(folder.path("none.h5"), lists_of(0, 3));
  EXPECT_EQ(RowFile::open(folder.path("none.h5") + ":neighbors").rows().rows, 0);
}

TEST_F(WriteH5, KeepsAnExistingFileUnlessToldToOverwrite) {
  const TempFolder folder;
  folder.write("nn.h5", "precious");
  error_of(ErrorCode::invalid_argument, [&] { write_neighbours(folder.path("nn.h5"), small_lists()); });
  EXPECT_EQ(read_all(folder.path("nn.h5")), "precious");
  write_neighbours(folder.path("nn.h5"), small_lists(), {.format = "h5", .overwrite = true});
  EXPECT_EQ(RowFile::open(folder.path("nn.h5") + ":neighbors").rows().rows, 3);
  EXPECT_EQ(folder.count(), 1U);
}

TEST(WriteH5Fallback, SaysWhatIsMissingBeforeAnyWork) {
  if (TESSERA_HAVE_HDF5) GTEST_SKIP() << "built with libhdf5";
  const TempFolder folder;
  EXPECT_CONTAINS(error_of(ErrorCode::unsupported, [&] { check_writable(folder.path("nn.h5")); }), "no libhdf5");
  EXPECT_CONTAINS(error_of(ErrorCode::unsupported, [&] { RowFile::open(folder.write("x.h5", "\x89HDF\r\n\x1a\n")); }),
                  "no libhdf5");
}

}  // namespace
}  // namespace tessera::io::test
