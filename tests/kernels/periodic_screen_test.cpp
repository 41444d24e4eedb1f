// SPDX-License-Identifier: Apache-2.0
// The folding screens: every score stands for the oracle's distance within its bound, on every instruction set and panel width; and without the list
// it is never below it, and right below half the brick's smallest edge.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "contract/periodic_oracle.hpp"
#include "metrics/bound.hpp"
#include "prepare/fold.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using kernels::Folding;

constexpr Index kStride = 32;

/// Points narrowed as the engine does it, and scored pair by pair.
class Scored {
 public:
  Scored(const kernels::CpuKernels& kernels, const Cell& cell, const Matrix& points)
      : kernels_(kernels), lattice_(metrics::make_lattice(cell, 3)), reader_(kernels, points.view(), false),
        narrowing_(prepare::choose_narrowing(reader_, metrics::traits_of(Metric::periodic), Screen::fp32_direct, 1.0, lattice_.get())), fold_(prepare::make_fold(*lattice_, narrowing_)) {
    packed_.resize(static_cast<std::size_t>(points.rows * kStride));
    std::vector<double> row(16);
    for (Index i = 0; i < points.rows; ++i) {
      reader_.read(i, row.data());
      terms_.push_back(prepare::narrow_base_row(narrowing_, kernels, row.data(), 16, packed_.data() + i * kStride).terms);
    }
  }

  const prepare::Fold& fold() const { return fold_; }
  double scale() const { return narrowing_.scale; }
  metrics::PairBound bound(Index i, Index j) const { return {narrowing_.bound, terms_[static_cast<std::size_t>(i)], terms_[static_cast<std::size_t>(j)]}; }

  /// Scores of query i against the first rows of a panel, through the seed kernel, whose minima of one panel are the scores.
  std::vector<float> scores(Folding folding, Index i, Index rows) const {
    const Index width = kernels_.panel_cols;
    std::vector<float> query(static_cast<std::size_t>(3 * rows)), base(static_cast<std::size_t>(3 * width));
    std::vector<float> minima(static_cast<std::size_t>(rows * width), std::numeric_limits<float>::infinity());
    std::vector<float> many;
    for (Index r = 0; r < rows; ++r) many.insert(many.end(), packed_.begin() + i * kStride, packed_.begin() + i * kStride + kStride);
    kernels_.interleave(many.data(), kStride, rows, 3, rows, query.data());
    const Index count = std::min<Index>(width, std::ssize(terms_));
    kernels_.interleave(packed_.data(), kStride, count, 3, width, base.data());
    const kernels::ScreenCall call{.query = query.data(), .base = base.data(), .bias = nullptr, .thresholds = nullptr, .lists = nullptr, .depth = 3, .first_panel = 0,
                                   .last_panel = 1, .capacity = 0, .factor = 0, .fold = &fold_.terms};
    kernels_.periodic_screen(folding, rows).seed(call, minima.data());
    minima.resize(static_cast<std::size_t>(count));
    return minima;
  }

 private:
  const kernels::CpuKernels& kernels_;
  std::shared_ptr<const metrics::Lattice> lattice_;
  prepare::RowReader reader_;
  prepare::Narrowing narrowing_;
  prepare::Fold fold_;
  std::vector<float> packed_;
  std::vector<metrics::RowTerms> terms_;
};

class PeriodicScreen : public ::testing::TestWithParam<std::string> {};

TEST_P(PeriodicScreen, ScoresWithinItsBound) {
  const kernels::CpuKernels& kernels = kernels_of(GetParam());
  std::mt19937_64 random(30);
  double widest = 0;
  for (int c = 0; c < 400; ++c) {
    const Cell cell = oracle::random_cell(random);
    const Matrix points = oracle::random_points(cell, 8, 2, random);
    const Scored scored(kernels, cell, points);
    const double z_scale = scored.scale() * scored.scale();
    for (Index i = 0; i < points.rows; ++i) {
      const Index rows = Index{1} << (random() % 3);
      const auto full = scored.scores(scored.fold().box ? Folding::box : Folding::list, i, rows);
      const auto coarse = scored.fold().box ? full : scored.scores(Folding::brick, i, rows);
      for (std::size_t j = 0; j < full.size(); ++j) {
        SCOPED_TRACE(fmt::format("cell {}, points {} and {}", c, i, j));
        const auto x = std::vector<double>(points.row(i), points.row(i) + 3);
        const auto y = std::vector<double>(points.row(static_cast<Index>(j)), points.row(static_cast<Index>(j)) + 3);
        const double z = oracle::nearest_image(cell, x, y).key * z_scale;
        const metrics::PairBound bound = scored.bound(i, static_cast<Index>(j));
        ASSERT_LE(bound.lower(full[j]), z);
        ASSERT_GE(bound.upper(full[j]), z);
        ASSERT_GE(bound.upper(coarse[j]), z) << "without the list";
        if (bound.threshold(z) < scored.fold().safe) {
          ASSERT_LE(bound.lower(coarse[j]), z) << "without the list, below half the smallest edge";
          ASSERT_LE(coarse[j], bound.threshold(z));
        }
        ASSERT_LE(full[j], bound.threshold(z));
        if (z > 1e-6) widest = std::max(widest, std::abs(std::sqrt(full[j]) - std::sqrt(z)) / (std::sqrt(bound.threshold(z)) - std::sqrt(z)));
      }
    }
  }
  // The bound is of the size of what it bounds: a screen that scores another quantity, or a bound far too wide, would show here.
  EXPECT_GT(widest, 0.02);
  fmt::print("{}: errors reach {:.3f} of their bound\n", GetParam(), widest);
}

TEST_P(PeriodicScreen, NeedsTheListFromHalfTheSmallestEdgeOn) {
  // Folding leaves (1, 1) where it is, at |w|^2 = 2; the image at (0, -1) is nearer.
  const Cell cell{{{{2, 0, 0}, {1, 2, 0}, {0, 0, 0}}}, {true, true, false}};
  const Matrix points{2, 3, {0, 0, 0, 1, 0.999, 0}};
  const Scored scored(kernels_of(GetParam()), cell, points);
  const double z_scale = scored.scale() * scored.scale();
  EXPECT_GT(scored.scores(Folding::brick, 0, 1)[1], 1.9 * z_scale);
  EXPECT_LT(scored.scores(Folding::list, 0, 1)[1], 1.1 * z_scale);
}

TEST_P(PeriodicScreen, LetsNanSurvive) {
  const Cell cells[] = {parse_cell("3 4 5"), parse_cell("3 4 5 60 70 80")};
  for (const Cell& cell : cells) {
    Matrix points = zeros(3, 3);
    points.row(2)[1] = 0.5;
    Scored scored(kernels_of(GetParam()), cell, points);
    for (const Folding folding : {Folding::box, Folding::brick, Folding::list}) {
      const kernels::CpuKernels& k = kernels_of(GetParam());
      const float nan = std::numeric_limits<float>::quiet_NaN();
      const float query[3] = {0, nan, 0};
      std::vector<float> base(static_cast<std::size_t>(3 * k.panel_cols), 0.1f);
      std::vector<kernels::Hit> hits(static_cast<std::size_t>(k.panel_cols));
      kernels::HitList list{hits.data(), 0};
      const float threshold = 0;
      const kernels::ScreenCall call{.query = query, .base = base.data(), .bias = nullptr, .thresholds = &threshold, .lists = &list, .depth = 3, .first_panel = 0,
                                     .last_panel = 1, .capacity = static_cast<std::int32_t>(k.panel_cols), .factor = 0, .fold = &scored.fold().terms};
      k.periodic_screen(folding, 1).screen(call);
      EXPECT_EQ(list.count, k.panel_cols);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, PeriodicScreen, ::testing::ValuesIn(isas()), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace tessera::testing
