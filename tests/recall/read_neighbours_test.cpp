// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "support/config.hpp"
#include "tessera/error.hpp"
#include "tessera/io.hpp"

namespace tessera::testing {
namespace {

class ReadNeighbours : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("tessera-lists-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  template <class T>
  std::string put(const std::string& name, const std::vector<T>& words, std::size_t cut = 0) const {
    std::ofstream file(path(name), std::ios::binary);
    file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * sizeof(T) - cut));
    return path(name);
  }
  std::string error_of(const std::string& file) const {
    try {
      read_neighbours(file);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::malformed_input) << error.what();
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST_F(ReadNeighbours, ReadsBackWhatIsWritten) {
  const float inf = INFINITY;
  const Neighbours lists{.rows = 2, .k = 3, .ids = {4, 9, 1, 7, -1, -1}, .distances = {0, 1.5F, 2, 3, inf, inf}, .distances64 = {}, .shifts = {}, .report = {}};
  for (const std::string& suffix : writable_formats()) {
    const std::string file = path("lists" + suffix);
    write_neighbours(file, lists);
    if (suffix == ".npz" && !TESSERA_HAVE_ZIP) continue;  // written without libzip, not read
    const NeighbourLists back = read_neighbours(file);
    EXPECT_EQ(back.rows, 2) << suffix;
    EXPECT_EQ(back.k, 3) << suffix;
    EXPECT_EQ(back.ids, lists.ids) << suffix;
    if (suffix == ".npy" || suffix == ".ivecs") {
      EXPECT_TRUE(back.distances.empty()) << suffix;
    } else {
      EXPECT_EQ(back.distances, (std::vector<double>{0, 1.5, 2, 3, INFINITY, INFINITY})) << suffix;
    }
  }
}

TEST_F(ReadNeighbours, ReadsTruthWithAndWithoutDistances) {
  const auto pairs = put<std::uint32_t>("a.bin", {1, 2, 7, 0xffffffff, bits(0.5F), bits(2)});
  EXPECT_EQ(read_neighbours(pairs).ids, (std::vector<std::int64_t>{7, -1}));
  EXPECT_EQ(read_neighbours(pairs).distances, (std::vector<double>{0.5, 2}));
  const auto ids = put<std::uint32_t>("b.ibin", {1, 2, 7, 3'000'000'000U});
  EXPECT_EQ(read_neighbours(ids).ids, (std::vector<std::int64_t>{7, 3'000'000'000}));
  EXPECT_TRUE(read_neighbours(ids).distances.empty());
}

TEST_F(ReadNeighbours, SaysWhatATruncatedTruthHolds) {
  const auto cut = put<std::uint32_t>("cut.ibin", {3, 2, 7, 8, 9, 1, 2, 3, 0, 0, 0, 0, 0, 0}, 5);
  const std::string message = error_of(cut);
  for (const char* part : {"3 lists of 2", "56 bytes", "51", "2 whole lists"}) EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_NE(error_of(put<std::uint8_t>("tiny.bin", {1, 2, 3})).find("truncated"), std::string::npos);
}

TEST_F(ReadNeighbours, RefusesDistancesForIds) {
  const std::string floats = put<std::uint32_t>("d.fbin", {2, 2, bits(0.5F), bits(1), bits(2), bits(3)});
  EXPECT_NE(error_of(floats).find("distances"), std::string::npos);
  std::vector<std::uint32_t> words = {3, 4};
  for (int i = 0; i < 12; ++i) words.push_back(bits(0.5F + static_cast<float>(i % 4)));
  EXPECT_NE(error_of(put<std::uint32_t>("d.ibin", words)).find("bits of float32"), std::string::npos);
}

TEST_F(ReadNeighbours, TakesHugeIdsForIds) {
  std::vector<std::uint32_t> words = {2, 4, 900'000'000, 800'000'000, 999'999'999, 5, 900'000'001, 2, 3, 4};
  EXPECT_EQ(read_neighbours(put<std::uint32_t>("big.ibin", words)).ids[2], 999'999'999);
}

TEST_F(ReadNeighbours, PairsIdsWithAFileOfDistances) {
  const Neighbours lists{.rows = 1, .k = 2, .ids = {4, 9}, .distances = {1, 2}, .distances64 = {}, .shifts = {}, .report = {}};
  write_neighbours(path("I.npy"), lists);
  const auto good = put<std::uint32_t>("D.fbin", {1, 2, bits(1), bits(2)});
  EXPECT_EQ(read_neighbours(path("I.npy"), good).distances, (std::vector<double>{1, 2}));
  const auto other = put<std::uint32_t>("E.fbin", {1, 3, bits(1), bits(2), bits(3)});
  EXPECT_THROW(read_neighbours(path("I.npy"), other), Error);
}

TEST_F(ReadNeighbours, RefusesCsvOfOtherThings) {
  std::ofstream(path("x.csv")) << "1,2,3,4\n5,6,7,8\n";
  EXPECT_NE(error_of(path("x.csv")).find("query,rank,id,distance"), std::string::npos);
  std::ofstream(path("y.csv")) << "query,rank,id,distance\n0,1,5,1\n0,2,6,1\n1,1,7,1\n1,1,7,1\n";
  EXPECT_NE(error_of(path("y.csv")).find("entry 3"), std::string::npos);
}

}  // namespace
}  // namespace tessera::testing
