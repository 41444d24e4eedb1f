// SPDX-License-Identifier: Apache-2.0
// Dumps as files: the same bytes as in memory, whatever interrupts them.
#include "tessera/dump.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <functional>

#include <nlohmann/json.hpp>

#include "dump/codec.hpp"
#include "dump/crc32c.hpp"
#include "dump/layout.hpp"
#include "support/config.hpp"
#include "support/data.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

namespace fs = std::filesystem;

class Dump : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tessera-dump-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Stored sample(Index rows, Index cols, unsigned seed) {
  std::mt19937_64 random(seed);
  return Stored(make(Kind::normal, rows, cols, random), DType::f32);
}

DistanceOptions cosine() {
  DistanceOptions options;
  options.metric.metric = Metric::cosine;
  options.memory = std::uint64_t{256} << 20;
  return options;
}

/// Half a dump: what its first shard does.
DistanceOptions first_half(DistanceOptions options) {
  options.shards = 2;
  return options;
}

void flip_byte(const std::string& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char byte = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 1));
}

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

TEST(DumpLayout, condensed_offsets_are_scipys_past_2_to_the_32) {
  std::ifstream file(std::string(TESSERA_TEST_DATA) + "/cases/dump.json");
  const auto cases = nlohmann::json::parse(file);
  bool seen = false;
  for (const auto& c : cases.at("cases")) {
    if (c.at("name") != "condensed_index") continue;
    seen = true;
    const Index n = c.at("n");
    const dump::Layout layout{.matrix = {.batches = 1, .rows = n, .cols = n, .self = true}, .condensed = true, .shape = {}};
    EXPECT_EQ(layout.values(), c.at("length").get<Index>());
    for (const auto& [pair, place] : c.at("pairs").items()) {
      const auto comma = pair.find(',');
      EXPECT_EQ(layout.offset(0, std::stoll(pair.substr(0, comma)), std::stoll(pair.substr(comma + 1))), place.get<Index>()) << pair;
    }
  }
  EXPECT_TRUE(seen);
  const dump::Layout other{.matrix = {.batches = 1, .rows = 46342, .cols = 46342, .self = true}, .condensed = true, .shape = {}};
  EXPECT_EQ(other.offset(0, 46340, 46341), 1073767310);
}

TEST(DumpLayout, runs_cover_every_value_of_the_array_once) {
  for (const bool condensed : {false, true}) {
    const MatrixShape shape{.batches = condensed ? 1 : 3, .rows = 23, .cols = 23, .self = true};
    const TileGrid grid{.shape = shape, .tile_rows = 5, .tile_cols = 7};
    const dump::Layout layout{.matrix = shape, .condensed = condensed, .shape = {}};
    std::vector<int> seen(static_cast<std::size_t>(layout.values()));
    for (Index t = 0; t < grid.tiles(); ++t) {
      layout.for_each_run(dump::tile_of(grid, t), [&](Index offset, Index, Index count) {
        for (Index i = 0; i < count; ++i) ++seen[static_cast<std::size_t>(offset + i)];
      });
    }
    for (const int times : seen) ASSERT_EQ(times, 1);
  }
}

TEST(DumpChecksum, is_crc_32c_with_and_without_the_instruction) {
  const std::string digits = "123456789";
  EXPECT_EQ(dump::crc32c(0, std::as_bytes(std::span(digits))), 0xE3069283u);
  std::mt19937 random(1);
  std::vector<std::byte> bytes(1000);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  for (std::size_t n = 0; n < 40; ++n) {
    EXPECT_EQ(dump::crc32c(7, std::span(bytes).first(n)), dump::crc32c_by_table(7, std::span(bytes).first(n)));
  }
  std::vector<std::byte> many(20'011);
  for (auto& b : many) b = static_cast<std::byte>(random());
  for (const std::size_t n : {3071u, 3072u, 3073u, 6143u, 6144u, 9999u, 20011u}) {
    EXPECT_EQ(dump::crc32c(9, std::span(many).first(n)), dump::crc32c_by_table(9, std::span(many).first(n))) << n;
  }
  EXPECT_EQ(dump::crc32c(dump::crc32c(0, std::span(bytes).first(333)), std::span(bytes).subspan(333)), dump::crc32c(0, bytes));
}

TEST_F(Dump, a_file_holds_the_values_of_memory_whatever_its_tiles) {
  const Stored x = sample(130, 40, 1);
  const Stored y = sample(77, 40, 2);
  for (const RowSet* columns : {static_cast<const RowSet*>(nullptr), &y.rows()}) {
    DistanceArray memory;
    if (columns != nullptr) {
      distance_matrix(x.rows(), *columns, cosine(), memory);
    } else {
      distance_matrix(x.rows(), cosine(), memory);
    }
    for (const Index tile : {Index{0}, Index{64}, Index{37}}) {
      DistanceOptions options = cosine();
      options.tile_rows = options.tile_cols = tile;
      const DumpReport report = dump_distances(path("d.npy"), x.rows(), columns, options, {.overwrite = true});
      EXPECT_EQ(report.tiles_after, report.tiles);
      const std::vector<char> file = bytes_of(path("d.npy"));
      ASSERT_EQ(file.size(), 4096 + memory.bytes());
      EXPECT_EQ(std::memcmp(file.data() + 4096, memory.data(), memory.bytes()), 0) << "tile " << tile;
      EXPECT_TRUE(verify_dump(path("d.npy")).complete());
      dump_distances(path("d.f32"), x.rows(), columns, options, {.overwrite = true});
      const std::vector<char> raw = bytes_of(path("d.f32"));
      ASSERT_EQ(raw.size(), memory.bytes());
      EXPECT_EQ(std::memcmp(raw.data(), memory.data(), memory.bytes()), 0) << "tile " << tile;
    }
  }
}

TEST_F(Dump, a_condensed_file_is_the_upper_triangle) {
  const Stored x = sample(91, 20, 3);
  DistanceArray memory;
  distance_matrix(x.rows(), cosine(), memory);
  for (const Index tile : {Index{0}, Index{16}, Index{91}}) {
    DistanceOptions options = cosine();
    options.tile_rows = options.tile_cols = tile;
    dump_distances(path("c.npy"), x.rows(), nullptr, options, {.condensed = true, .overwrite = true});
    const std::vector<char> file = bytes_of(path("c.npy"));
    ASSERT_EQ(file.size(), 4096u + 91 * 90 / 2 * 4);
    const auto* values = reinterpret_cast<const float*>(file.data() + 4096);
    for (Index i = 0; i < 91; ++i) {
      for (Index j = i + 1; j < 91; ++j) ASSERT_EQ(*values++, memory.floats()[i * 91 + j]) << i << " " << j;
    }
    EXPECT_TRUE(verify_dump(path("c.npy")).complete());
  }
}

TEST_F(Dump, an_interrupted_dump_goes_on_and_ends_up_the_same) {
  const Stored x = sample(200, 30, 4);
  DistanceOptions options = cosine();
  options.tile_rows = options.tile_cols = 16;
  options.threads = 2;
  std::vector<std::string> names = {"r.npy", "r.f32"};
  if (TESSERA_HAVE_HDF5) names.emplace_back("r.h5");
  for (const std::string& name : names) {
    dump_distances(path("whole-" + name), x.rows(), nullptr, options);
    dump_distances(path(name), x.rows(), nullptr, first_half(options));
    const DumpStatus half = verify_dump(path(name));
    EXPECT_GT(half.missing, 0) << name;
    EXPECT_TRUE(half.damaged.empty()) << name;
    EXPECT_EQ(code_of([&] { dump_distances(path(name), x.rows(), nullptr, options); }), ErrorCode::invalid_argument) << "without resume";
    DistanceOptions other_tiles = options;
    other_tiles.tile_rows = other_tiles.tile_cols = 0;  // a resumed dump keeps the tiles it began with
    const DumpReport report = dump_distances(path(name), x.rows(), nullptr, other_tiles, {.resume = true});
    EXPECT_EQ(report.tiles_before, half.tiles - half.missing) << name;
    EXPECT_EQ(report.matrix.tiles, half.missing) << name;
    EXPECT_EQ(bytes_of(path(name)), bytes_of(path("whole-" + name))) << name;
    EXPECT_TRUE(verify_dump(path(name)).complete()) << name;
  }
}

std::vector<char> bytes_of_folder(const std::string& path) {
  std::vector<fs::path> names;
  for (const auto& entry : fs::directory_iterator(path)) names.push_back(entry.path());
  std::ranges::sort(names);
  std::vector<char> all;
  for (const auto& name : names) {
    const std::string text = name.filename().string();
    all.insert(all.end(), text.begin(), text.end());
    const std::vector<char> bytes = bytes_of(name.string());
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

TEST_F(Dump, zarr_goes_on_too_with_every_compressor) {
  const Stored x = sample(100, 30, 10);
  DistanceOptions options = cosine();
  options.tile_rows = options.tile_cols = 16;
  std::vector<std::string> codecs = {""};
  for (const auto name : dump::codecs()) codecs.emplace_back(name);
  for (const std::string& codec : codecs) {
    const std::string whole = path("whole" + codec + ".zarr");
    const std::string cut = path("cut" + codec + ".zarr");
    dump_distances(whole, x.rows(), nullptr, options, {.compress = codec});
    dump_distances(cut, x.rows(), nullptr, first_half(options), {.compress = codec});
    EXPECT_GT(verify_dump(cut).missing, 0);
    dump_distances(cut, x.rows(), nullptr, options, {.compress = codec, .resume = true});
    EXPECT_TRUE(verify_dump(cut).complete());
    EXPECT_EQ(bytes_of_folder(cut), bytes_of_folder(whole)) << codec;
    flip_byte(cut + "/2.3", 40);
    EXPECT_EQ(verify_dump(cut).damaged, std::vector<Index>{2 * 7 + 3}) << codec;
    fs::remove(fs::path(cut) / "1.1");
    EXPECT_EQ(dump_distances(cut, x.rows(), nullptr, options, {.compress = codec, .resume = true}).tiles_damaged, 2);
    EXPECT_EQ(bytes_of_folder(cut), bytes_of_folder(whole)) << codec;
  }
}

TEST_F(Dump, compressed_hdf5_is_verified_and_not_resumed) {
  if (!TESSERA_HAVE_HDF5 || !TESSERA_HAVE_ZLIB) GTEST_SKIP() << "no libhdf5 or no zlib";
  const Stored x = sample(100, 30, 11);
  DistanceOptions options = cosine();
  options.tile_rows = options.tile_cols = 16;
  dump_distances(path("d.h5"), x.rows(), nullptr, options, {.compress = "gzip"});
  EXPECT_TRUE(verify_dump(path("d.h5")).complete());
  EXPECT_EQ(code_of([&] { dump_distances(path("d.h5"), x.rows(), nullptr, options, {.compress = "gzip", .resume = true}); }), ErrorCode::unsupported);
}

TEST_F(Dump, damage_is_found_and_mended) {
  const Stored x = sample(100, 30, 5);
  DistanceOptions options = cosine();
  options.tile_rows = options.tile_cols = 25;
  dump_distances(path("d.npy"), x.rows(), nullptr, options);
  const std::vector<char> whole = bytes_of(path("d.npy"));
  flip_byte(path("d.npy"), 4096 + 4 * (30 * 100 + 80));  // row 30, column 80: tile 1 * 4 + 3
  const DumpStatus status = verify_dump(path("d.npy"));
  EXPECT_EQ(status.damaged, std::vector<Index>{7});
  const DumpReport report = dump_distances(path("d.npy"), x.rows(), nullptr, options, {.resume = true});
  EXPECT_EQ(report.tiles_damaged, 1);
  EXPECT_EQ(report.matrix.tiles, 1);
  EXPECT_EQ(bytes_of(path("d.npy")), whole);

  fs::resize_file(path("d.npy"), 4096 + 4 * 60 * 100);
  EXPECT_EQ(code_of([&] { verify_dump(path("d.npy")); }), ErrorCode::malformed_input);
  EXPECT_EQ(dump_distances(path("d.npy"), x.rows(), nullptr, options, {.resume = true}).tiles_damaged, 8);
  EXPECT_EQ(bytes_of(path("d.npy")), whole);

  fs::remove(path("d.npy"));
  dump_distances(path("d.npy"), x.rows(), nullptr, options, {.resume = true});
  EXPECT_EQ(bytes_of(path("d.npy")), whole);
}

TEST_F(Dump, another_input_metric_or_type_is_refused) {
  const Stored x = sample(40, 20, 6);
  const Stored z = sample(40, 20, 7);
  dump_distances(path("d.npy"), x.rows(), nullptr, cosine());
  const auto message = [&](const RowSet& rows, const RowSet* columns, const DistanceOptions& options, const DumpOptions& dump) -> std::string {
    try {
      dump_distances(path("d.npy"), rows, columns, options, dump);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  DistanceOptions l2 = cosine();
  l2.metric.metric = Metric::l2;
  DistanceOptions half = cosine();
  half.dtype = DType::f16;
  EXPECT_NE(message(z.rows(), nullptr, cosine(), {.resume = true}).find("content of the rows was"), std::string::npos);
  EXPECT_NE(message(x.rows(), nullptr, l2, {.resume = true}).find("metric was \"cosine\", now \"l2\""), std::string::npos);
  EXPECT_NE(message(x.rows(), nullptr, half, {.resume = true}).find("dtype was"), std::string::npos);
  EXPECT_NE(message(x.rows(), &z.rows(), cosine(), {.resume = true}).find("self was true"), std::string::npos);
  EXPECT_EQ(message(x.rows(), nullptr, l2, {.overwrite = true}), "no error");
}

TEST_F(Dump, shards_fill_one_file_together_in_any_order) {
  const Stored x = sample(150, 30, 8);
  DistanceOptions options = cosine();
  options.tile_rows = options.tile_cols = 16;
  dump_distances(path("whole.npy"), x.rows(), nullptr, options);
  options.shards = 3;
  for (const Index shard : {2, 0, 1}) {
    options.shard = shard;
    const DumpReport report = dump_distances(path("d.npy"), x.rows(), nullptr, options);
    EXPECT_EQ(report.tiles_after == report.tiles, shard == 1);
  }
  EXPECT_EQ(bytes_of(path("d.npy")), bytes_of(path("whole.npy")));
  EXPECT_TRUE(verify_dump(path("d.npy")).complete());
}

TEST_F(Dump, a_stop_leaves_what_can_be_resumed) {
  const Stored x = sample(60, 20, 12);
  std::stop_source stop;
  stop.request_stop();
  DistanceOptions options = cosine();
  options.stop = stop.get_token();
  EXPECT_EQ(code_of([&] { dump_distances(path("d.npy"), x.rows(), nullptr, options); }), ErrorCode::cancelled);
  EXPECT_FALSE(fs::exists(path("d.npy.tiles"))) << "nothing had begun";
}

TEST_F(Dump, files_of_strangers_are_left_alone) {
  const Stored x = sample(10, 4, 9);
  std::ofstream(path("d.npy")) << "mine";
  EXPECT_EQ(code_of([&] { dump_distances(path("d.npy"), x.rows(), nullptr, cosine()); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { dump_distances(path("d.npy"), x.rows(), nullptr, cosine(), {.resume = true}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(bytes_of(path("d.npy")).size(), 4u);
  EXPECT_EQ(code_of([&] { dump_distances(path("d.txt"), x.rows(), nullptr, cosine()); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { verify_dump(path("d.npy")); }), ErrorCode::io);

  // What lies where the journal goes, or beside a raw file, is no less a stranger's.
  std::ofstream(path("e.npy.tiles")) << "mine";
  std::ofstream(path("long.npy.tiles")) << std::string(9000, 'm');
  for (const std::string name : {"e.npy", "long.npy"}) {
    const std::vector<char> before = bytes_of(path(name + ".tiles"));
    for (const bool overwrite : {false, true}) {
      EXPECT_EQ(code_of([&] { dump_distances(path(name), x.rows(), nullptr, cosine(), {.overwrite = overwrite}); }), ErrorCode::invalid_argument) << name;
    }
    EXPECT_EQ(bytes_of(path(name + ".tiles")), before);
    EXPECT_FALSE(fs::exists(path(name)));
    EXPECT_EQ(code_of([&] { verify_dump(path(name)); }), ErrorCode::malformed_input);
  }
  std::ofstream(path("r.f32.json")) << "mine";
  EXPECT_EQ(code_of([&] { dump_distances(path("r.f32"), x.rows(), nullptr, cosine()); }), ErrorCode::invalid_argument);
  EXPECT_EQ(bytes_of(path("r.f32.json")).size(), 4u);
  EXPECT_FALSE(fs::exists(path("r.f32")) || fs::exists(path("r.f32.tiles")));
  dump_distances(path("r.f32"), x.rows(), nullptr, cosine(), {.overwrite = true});
  EXPECT_GT(bytes_of(path("r.f32.json")).size(), 4u);
  dump_distances(path("r.f32"), x.rows(), nullptr, cosine(), {.resume = true});

  fs::create_directory(path("z.zarr"));
  std::ofstream(path("z.zarr/mine")) << "mine";
  EXPECT_EQ(code_of([&] { dump_distances(path("z.zarr"), x.rows(), nullptr, cosine(), {.overwrite = true}); }), ErrorCode::invalid_argument);
  EXPECT_TRUE(fs::exists(path("z.zarr/mine")));
  EXPECT_FALSE(fs::exists(path("z.zarr.tiles")));
}

TEST_F(Dump, a_journal_that_was_never_written_is_begun_anew) {
  const Stored x = sample(10, 4, 9);
  std::ofstream(path("d.npy.tiles")) << std::string(5000, '\0');  // killed between reserving and writing
  dump_distances(path("d.npy"), x.rows(), nullptr, cosine(), {.resume = true});
  EXPECT_TRUE(verify_dump(path("d.npy")).complete());
}

TEST_F(Dump, a_value_past_float16_leaves_nothing_behind) {
  std::ifstream file(std::string(TESSERA_TEST_DATA) + "/cases/dump.json");
  EXPECT_NE(std::string(std::istreambuf_iterator<char>(file), {}).find("float16_overflow"), std::string::npos);
  const double fits[] = {0, 65504};
  const double too_large[] = {0, 70000};
  std::vector<std::string> names = {"h.npy", "h.f16", "h.zarr"};
  if (TESSERA_HAVE_HDF5) names.emplace_back("h.h5");
  DistanceOptions options;
  options.metric.metric = Metric::wasserstein;
  options.dtype = DType::f16;
  for (const std::string& name : names) {
    EXPECT_EQ(code_of([&] { dump_distances(path(name), dense(too_large, 2, 1), nullptr, options); }), ErrorCode::malformed_input) << name;
    EXPECT_TRUE(fs::is_empty(folder_)) << name;
    dump_distances(path(name), dense(fits, 2, 1), nullptr, options);
    EXPECT_TRUE(verify_dump(path(name)).complete()) << name;
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove_all(entry.path());
  }
  // A shard's file is the others' too.
  options.shards = 2;
  options.tile_rows = options.tile_cols = 1;
  EXPECT_EQ(code_of([&] { dump_distances(path("s.npy"), dense(too_large, 2, 1), nullptr, options); }), ErrorCode::malformed_input);
  EXPECT_TRUE(fs::exists(path("s.npy")));
}

TEST_F(Dump, a_shape_is_told_before_anything_is_written) {
  const Stored x = sample(6, 4, 9);
  DistanceOptions options = cosine();
  const MatrixShape six = plan_distances(x.rows(), options).grid.shape;
  EXPECT_EQ(dump_shape(six, options), (std::vector<Index>{6, 6}));
  EXPECT_EQ(dump_shape(six, options, {.condensed = true}), (std::vector<Index>{15}));
  EXPECT_EQ(dump_shape(six, options, {.row_grid = {2, 3}}), (std::vector<Index>{2, 3, 2, 3}));
  options.batches = 2;
  EXPECT_EQ(dump_shape(plan_distances(x.rows(), options).grid.shape, options), (std::vector<Index>{2, 3, 3}));
}

}  // namespace
}  // namespace tessera::testing
