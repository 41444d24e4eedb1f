// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "tessera/export.hpp"
#include "tessera/metric.hpp"
#include "tessera/progress.hpp"
#include "tessera/rows.hpp"

namespace tessera {

/// Whether the queries are rows of the base (same ids), and what a query then does with itself.
enum class SelfMode : std::uint8_t {
  none,     ///< two sets: equal ids mean nothing
  natural,  ///< one set, nothing special: the row is a neighbour like any other
  exclude,  ///< never returned to itself (by id, never by distance zero)
  first     ///< always its own first neighbour, whatever ties with it
};

/// What non-finite rows mean.
enum class NanPolicy : std::uint8_t {
  error,  ///< Error{malformed_input} naming the first such row and their number
  skip    ///< such base rows are never returned; such queries are answered with padding
};

/// Which base rows may be returned. Others are as if they were not there, but keep their ids; they must be finite like all rows.
struct RowFilter {
  enum class Kind : std::uint8_t {
    all,    ///< every row; ids are not looked at
    allow,  ///< these alone
    deny    ///< all but these
  };
  Kind kind = Kind::all;
  std::vector<Index> ids{};  ///< of base rows, in any order; repeats are fine. Error{invalid_argument} for an id the base lacks
  friend bool operator==(const RowFilter&, const RowFilter&) = default;
};

/// Which images of a base row a periodic search lists.
enum class Images : std::uint8_t {
  nearest,  ///< each row once, at its nearest image
  all       ///< every image is a neighbour of its own; a list is ordered by (distance, id, shift)
};

enum class DistanceType : std::uint8_t { float32, float64 };

/// Where distances are computed; speed only. `automatic` is the CPU as yet: a GPU has to be asked for.
enum class BackendKind : std::uint8_t {
  automatic,
  cpu,
  cuda  ///< an NVIDIA GPU; Error{unsupported} where the build has no CUDA or the machine no usable device
};

/// How pairs are dismissed before double precision; speed only, never the answer.
/// bf16 is for CPUs with AVX512_BF16 and for tensor cores: Error{unsupported} elsewhere, and on devices whose way of adding is not known.
enum class Screen : std::uint8_t { automatic, fp32, fp32_direct, fp32_dot, double_precision, int8, bf16 };

/// Who works on what; speed only.
enum class Schedule : std::uint8_t { automatic, by_query, by_base };

/// Whether base rows are reordered into compact tiles, and tiles too far from a query are never visited; speed only.
enum class Pruning : std::uint8_t { automatic, off, on };

/// Whether a search of a set in itself computes each pair of rows once, for both of them; speed only.
enum class Symmetry : std::uint8_t { automatic, off, on };

/// Names as the command spells them ("auto", "int8", "bf16", "fp32", "fp32-dot", "double", "by-query", ...).
TESSERA_API std::string_view name_of(Screen screen) noexcept;
TESSERA_API std::optional<Screen> parse_screen(std::string_view name) noexcept;
TESSERA_API std::string_view name_of(Schedule schedule) noexcept;
TESSERA_API std::optional<Schedule> parse_schedule(std::string_view name) noexcept;
TESSERA_API std::string_view name_of(Pruning pruning) noexcept;
TESSERA_API std::optional<Pruning> parse_pruning(std::string_view name) noexcept;
TESSERA_API std::string_view name_of(Symmetry symmetry) noexcept;
TESSERA_API std::optional<Symmetry> parse_symmetry(std::string_view name) noexcept;
TESSERA_API std::string_view name_of(SelfMode mode) noexcept;
TESSERA_API std::optional<SelfMode> parse_self_mode(std::string_view name) noexcept;

/// Options of knn(). Everything under "speed only" leaves every output bit alone.
struct KnnOptions {
  MetricSpec metric{};
  SelfMode self = SelfMode::none;
  NanPolicy nan = NanPolicy::error;
  RowFilter filter{};               ///< of base rows; fixed when a base is prepared
  DistanceType distances = DistanceType::float32;
  Images images = Images::nearest;  ///< periodic only
  bool shifts = false;              ///< periodic: also return the cells that each neighbour is moved by

  // Speed only.
  BackendKind backend = BackendKind::automatic;
  Screen screen = Screen::automatic;
  Schedule schedule = Schedule::automatic;
  Pruning prune = Pruning::automatic;  ///< on: an error where the metric or screen cannot
  Symmetry symmetric = Symmetry::automatic;  ///< on: an error where the queries are not the base, or the metric or screen cannot
  Index tile = 0;                   ///< base rows per tile; 0: chosen from the cache sizes
  int threads = 0;                  ///< 0: the cores the process may use
  std::uint64_t memory = 0;         ///< bytes for buffers; 0: half of what is free

  ProgressFunction progress{};
  std::stop_token stop{};           ///< Error{cancelled} soon after a stop is requested
};

}  // namespace tessera
