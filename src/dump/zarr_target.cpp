// SPDX-License-Identifier: Apache-2.0
// Zarr version 2: a folder with .zarray and one file a chunk, written under a temporary name, synced, and renamed.
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "dump/chunks.hpp"
#include "dump/codec.hpp"
#include "io/bytes.hpp"

namespace tessera::dump {
namespace {

namespace fs = std::filesystem;
using support::fail;

class ZarrTarget final : public Target {
 public:
  explicit ZarrTarget(TargetSpec spec) : spec_(std::move(spec)), chunks_(spec_) {}

  void create() override {
    std::error_code error;
    // Only what a dump leaves: a folder with something else in it is not removed.
    if (fs::exists(spec_.path, error) && !fs::is_empty(spec_.path, error) && !fs::exists(fs::path(spec_.path) / ".zarray", error)) {
      fail(ErrorCode::invalid_argument, "'{}' is a folder and no Zarr array; choose another name", spec_.path);
    }
    fs::remove_all(spec_.path, error);
    if (!fs::create_directory(spec_.path, error) && error) fail(ErrorCode::io, "cannot create '{}': {}", spec_.path, error.message());
    const File file(spec_.path + "/.zarray", true, true);
    file.write_at(0, io::as_bytes(metadata()));
    file.sync();
    sync_folder(spec_.path);
  }

  void open(bool) override {
    std::error_code error;
    if (!fs::exists(fs::path(spec_.path) / ".zarray", error)) {
      fail(ErrorCode::malformed_input, "'{}' has no .zarray: start again with --force", spec_.path);
    }
  }

  void write(const ValueTile& tile) override {
    const std::vector<std::byte> values = chunks_.padded(tile);
    const File file(temporary(tile), true, true);
    if (spec_.compress.empty()) {
      file.write_at(0, values);
    } else {
      file.write_at(0, compress(spec_.compress, values));
    }
  }

  void sync(const std::vector<TileMark>& tiles) override {
    for (const TileMark& mark : tiles) {
      const ValueTile tile = tile_of(spec_.grid, mark.tile);
      const std::string from = temporary(tile);
      File(from, false).sync();
      if (::rename(from.c_str(), name(tile).c_str()) != 0) fail_io("rename", from, errno);
    }
    sync_folder(spec_.path);
  }

  bool read(const ValueTile& tile, std::byte* out) override {
    std::error_code error;
    if (!fs::exists(name(tile), error)) return false;
    const File file = File::for_reading(name(tile));
    std::vector<std::byte> stored(file.size());
    std::vector<std::byte> values(chunks_.bytes());
    if (!file.read_at(0, stored) || !decompress(spec_.compress, stored, values)) return false;
    chunks_.cut(values, tile, out);
    return true;
  }

  void finish(bool alone) override {
    if (!alone) return;  // another shard may be at work on its own
    // What a killed run left half written.
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(spec_.path, error)) {
      if (entry.path().filename().string().ends_with(kPart)) fs::remove(entry.path(), error);
    }
  }

 private:
  static constexpr std::string_view kPart = ".part";

  std::string name(const ValueTile& tile) const { return fmt::format("{}/{}", spec_.path, fmt::join(chunks_.place(tile), ".")); }
  std::string temporary(const ValueTile& tile) const { return fmt::format("{}/.{}{}", spec_.path, fmt::join(chunks_.place(tile), "."), kPart); }

  std::string metadata() const {
    nlohmann::ordered_json json;
    json["zarr_format"] = 2;
    json["shape"] = spec_.layout.shape;
    json["chunks"] = chunks_.shape();
    json["dtype"] = fmt::format("<f{}", spec_.layout.itemsize());
    json["compressor"] = nullptr;
    if (!spec_.compress.empty()) json["compressor"] = {{"id", spec_.compress}, {"level", 1}};
    json["fill_value"] = nullptr;
    json["order"] = "C";
    json["filters"] = nullptr;
    return json.dump(2) + "\n";
  }

  TargetSpec spec_;
  Chunks chunks_;
};

}  // namespace

std::unique_ptr<Target> make_zarr_target(const TargetSpec& spec) { return std::make_unique<ZarrTarget>(spec); }

}  // namespace tessera::dump
