// SPDX-License-Identifier: Apache-2.0
// Kernel D on the host: every hit and every score against the model, one pair at a time.
#include "kernels/cuda/tensor.cuh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

#include "simt/shim.hpp"
#include "simt/tensor_scores.hpp"
#include "simt/tensor_shim.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using cuda::TensorParams;
using prepare::TensorType;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kPanel = cuda::kTensorPanel;

template <class Tile, bool Resident>
void kernel(const void* params) {
  cuda::screen_tensor<Tile, Resident>(*static_cast<const TensorParams*>(params));
}

struct Case {
  TensorType type = TensorType::bf16;
  Index d = 40;
  Index nq = 130;
  Index nb = 300;
  std::uint32_t span = 2;
  std::uint32_t capacity = 400;
  std::uint32_t first_panel = 0;
  int arch = 90;
  bool resident = true;
};

Matrix normal(Index rows, Index cols, std::mt19937_64& random) {
  std::normal_distribution<double> one;
  Matrix m = zeros(rows, cols);
  for (double& v : m.values) v = one(random);
  return m;
}

/// One launch over random rows, and what it should leave.
class Launch {
 public:
  Launch(const Case& c, std::uint64_t seed) : case_(c), random_(seed), arch_(*cuda::find_tensor_arch(c.arch)) {
    const Matrix queries = normal(c.nq, c.d, random_);
    Matrix base = normal(c.nb, c.d, random_);
    base.values[0] = 1e40;  // no bound: its score is NaN
    sides_ = pack_sides(engine::select_kernels(), Metric::l2, c.type, &arch_, queries.view(), base.view(), queries.view());
    const auto rows = static_cast<std::size_t>((c.nq + kPanel - 1) / kPanel * kPanel);
    states_.resize(rows, {.tau = 0, .kind = cuda::RowKind::unsearched, .owed = false, .own_position = cuda::kNoPosition, .pending = 0, .best = 0});
    thresholds_.resize(rows, -kInfinity);
    counts_.resize(rows);
    hits_.resize(rows * c.capacity, {0, 0xdeadbeef});
    for (std::size_t r = 0; r < static_cast<std::size_t>(c.nq); ++r) {
      // Few, most or all columns; a few rows have no bound, a few are not searched.
      const float at = sides_->base->bias()[1] * static_cast<float>(random_() % 5) / 3 - 1;
      thresholds_[r] = r % 7 == 3 ? kInfinity : r % 11 == 5 ? -kInfinity : at;
      if (r % 3 == 2) states_[r].own_position = static_cast<std::uint32_t>(random_() % static_cast<std::uint64_t>(c.nb));
    }
  }

  void run() {
    const auto chunks = static_cast<std::uint32_t>(sides_->base->chunks());
    const auto panels = static_cast<std::uint32_t>((case_.nb + kPanel - 1) / kPanel);
    cuda::RowArrays arrays{};
    arrays.rows = states_.data();
    arrays.thresholds = thresholds_.data();
    arrays.hit_counts = counts_.data();
    arrays.hits = hits_.data();
    arrays.hit_capacity = case_.capacity;
    const TensorParams params{.queries = reinterpret_cast<const unsigned char*>(sides_->queries->panels()),
                              .base = reinterpret_cast<const unsigned char*>(sides_->base->panels()),
                              .bias = sides_->base->bias(),
                              .col_residual = sides_->base->residual(),
                              .col_scale = sides_->base->scale(),
                              .row_factor = sides_->queries->factor(),
                              .row_reach = sides_->queries->reach(),
                              .arrays = arrays,
                              .first_panel = case_.first_panel,
                              .last_panel = panels,
                              .span = case_.span,
                              .columns = static_cast<std::uint32_t>(case_.nb),
                              .chunks = chunks};
    const simt_shim::Grid grid{.grid_x = (panels - case_.first_panel + case_.span - 1) / case_.span, .grid_y = static_cast<unsigned>(states_.size() / kPanel),
                               .threads = cuda::kTensorThreads, .shared_bytes = cuda::tensor_shared(case_.resident, chunks)};
    const ModelledArch modelled(case_.arch);
    simt_shim::run_grid(grid, function(), &params);
  }

  /// What differs from the model; empty: nothing.
  std::string difference() const {
    for (std::size_t r = 0; r < states_.size(); ++r) {
      const std::map<std::uint32_t, float> wanted = hits_of(r);
      if (counts_[r] != wanted.size()) return fmt::format("row {}: {} hits, wanted {}", r, counts_[r], wanted.size());
      std::map<std::uint32_t, float> seen;
      for (std::size_t i = 0; i < std::min<std::size_t>(counts_[r], case_.capacity); ++i) {
        const cuda::Hit& hit = hits_[r * case_.capacity + i];
        const auto at = wanted.find(hit.position);
        if (at == wanted.end()) return fmt::format("row {}: column {} is no hit", r, hit.position);
        if (!same(at->second, hit.score)) return fmt::format("row {}, column {}: score {:a}, wanted {:a}", r, hit.position, hit.score, at->second);
        seen[hit.position] = hit.score;
      }
      if (seen.size() != std::min<std::size_t>(wanted.size(), case_.capacity)) return fmt::format("row {}: a column twice", r);
    }
    return "";
  }

  std::size_t all_hits() const { return std::accumulate(counts_.begin(), counts_.end(), std::size_t{0}); }

 private:
  static bool same(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b)); }

  void (*function() const)(const void*) {
    if (case_.type == TensorType::bf16) return case_.resident ? &kernel<cuda::Bf16Tile, true> : &kernel<cuda::Bf16Tile, false>;
    return case_.resident ? &kernel<cuda::Int8Tile, true> : &kernel<cuda::Int8Tile, false>;
  }

  std::map<std::uint32_t, float> hits_of(std::size_t r) const {
    std::map<std::uint32_t, float> hits;
    if (r >= static_cast<std::size_t>(case_.nq) || thresholds_[r] == -kInfinity) return hits;
    for (std::uint32_t j = case_.first_panel * kPanel; j < case_.nb; ++j) {
      if (j == states_[r].own_position) continue;
      const float score = tensor_score(*sides_, arch_, static_cast<Index>(r), j);
      if (!(score > thresholds_[r])) hits[j] = score;
    }
    return hits;
  }

  Case case_;
  std::mt19937_64 random_;
  const cuda::TensorArch& arch_;
  std::unique_ptr<TensorSides> sides_;
  std::vector<cuda::RowState> states_;
  std::vector<float> thresholds_;
  std::vector<std::uint32_t> counts_;
  std::vector<cuda::Hit> hits_;
};

void expect_right(const Case& c, std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("type {}, d {}, {} x {}, span {}, capacity {}, sm_{}, resident {}, seed {}", static_cast<int>(c.type), c.d, c.nq, c.nb, c.span, c.capacity, c.arch,
                           c.resident, seed));
  simt_shim::configure({.seed = seed});
  Launch launch(c, seed);
  ASSERT_NO_THROW(launch.run());
  EXPECT_EQ(launch.difference(), "");
  EXPECT_GT(launch.all_hits(), 0U);
}

class TensorKernel : public ::testing::TestWithParam<TensorType> {};

TEST_P(TensorKernel, FindsWhatTheModelFinds) {
  std::uint64_t seed = 1;
  for (const bool resident : {true, false}) {
    for (const Index d : {1, 33, 200}) expect_right({.type = GetParam(), .d = d, .nq = 60, .nb = 300, .resident = resident}, seed++);
  }
}

TEST_P(TensorKernel, FindsItAroundItsPanels) {
  std::uint64_t seed = 50;
  for (const Index nb : {1, 127, 128, 129}) expect_right({.type = GetParam(), .d = 20, .nq = nb == 128 ? 129 : 1, .nb = nb, .span = 1}, seed++);
  expect_right({.type = GetParam(), .d = 20, .nq = 5, .nb = 500, .span = 3, .first_panel = 1}, seed++);
}

TEST_P(TensorKernel, CountsHitsThatFindNoRoom) { expect_right({.type = GetParam(), .d = 20, .nq = 20, .nb = 200, .capacity = 16}, 70); }

INSTANTIATE_TEST_SUITE_P(Types, TensorKernel, ::testing::Values(TensorType::bf16, TensorType::int8),
                         [](const auto& p) { return std::string(p.param == TensorType::bf16 ? "bf16" : "int8"); });

TEST(TensorKernelOfAnA100, FindsWhatItsModelFinds) { expect_right({.type = TensorType::bf16, .d = 100, .nq = 40, .nb = 130, .arch = 80}, 80); }

/// Whether a fault shows under any of a few schedules.
bool shows(const simt_shim::Faults& faults) {
  bool shown = false;
  for (std::uint64_t seed = 90; seed < 94 && !shown; ++seed) {
    simt_shim::configure({.seed = seed, .faults = faults});
    Launch launch({.d = 100, .nq = 30, .nb = 260, .span = 3}, seed);
    try {
      launch.run();
      shown = !launch.difference().empty();
    } catch (const simt_shim::SimtError&) {
      shown = true;
    }
  }
  simt_shim::configure({});
  return shown;
}

TEST(TensorKernelFaults, AreSeen) {
  simt_shim::take_reached();
  ASSERT_FALSE(shows({})) << "without a fault";
  const simt_shim::Reached reached = simt_shim::take_reached();
  ASSERT_GE(reached.barriers.size(), 2U);
  ASSERT_GE(reached.exchanges.size(), 4U);
  for (const simt_shim::Site& site : reached.barriers) EXPECT_TRUE(shows({.barrier = site})) << "a barrier gone from " << site;
  for (const simt_shim::Site& site : reached.exchanges) EXPECT_TRUE(shows({.lanes = site})) << "a lane left out at " << site;
  EXPECT_TRUE(shows({.arrival = "any"})) << "nobody waits for copies";
}

}  // namespace
}  // namespace tessera::testing
