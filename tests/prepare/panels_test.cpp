// SPDX-License-Identifier: Apache-2.0
#include "prepare/panels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/workers.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using prepare::Panels;
using prepare::RowReader;

struct Packed {
  prepare::Narrowing narrowing;
  std::unique_ptr<Panels> panels;
};

Packed pack(const kernels::CpuKernels& k, const RowSet& rows, core::SpecialRows special, bool dot, Index tile_cols, bool pruned = false) {
  const auto& traits = metrics::traits_of(Metric::sqeuclidean);
  const RowReader reader(k, rows, false);
  Packed p{prepare::choose_narrowing(reader, traits, dot ? Screen::fp32_dot : Screen::fp32_direct, 1.0), nullptr};
  const auto executor = engine::make_executor(2);
  p.panels = prepare::pack_panels(reader, std::move(special), &p.narrowing, tile_cols, pruned, *executor);
  return p;
}

TEST(Panels, HoldEveryRowThatIsLeft) {
  std::mt19937_64 random(20);
  for (const std::string& isa : isas()) {
    const auto& k = kernels_of(isa);
    const Index w = k.panel_cols;
    for (const Index n : {Index{1}, w - 1, w, w + 1, 3 * w + 5}) {
      const Matrix m = make(Kind::normal, n, 5, random);
      for (const bool dot : {false, true}) {
        const Packed p = pack(k, m.view(), {}, dot, 2 * w);
        ASSERT_EQ(p.panels->cols(), n);
        EXPECT_EQ(p.panels->bytes() > 0, true);
        for (Index i = 0; i < n; ++i) {
          for (Index t = 0; t < 5; ++t) {
            const auto v = static_cast<float>((m.row(i)[t] - p.narrowing.base_centre[static_cast<std::size_t>(t)]) * p.narrowing.scale);
            ASSERT_EQ(p.panels->panels[static_cast<std::size_t>((i / w * 5 + t) * w + i % w)], v) << isa << ", row " << i << ", column " << t;
          }
        }
      }
    }
  }
}

TEST(Panels, NumberPositionsPastTheRowsLeftOut) {
  std::mt19937_64 random(21);
  const Matrix m = make(Kind::normal, 10, 3, random);
  RowSet rows = m.view();
  rows.first_id = 500;
  const auto& k = kernels_of(isas().back());
  const Packed p = pack(k, rows, {.skipped = {0, 4, 9}, .zero = {5}}, true, k.panel_cols);
  const std::vector<Index> left = {1, 2, 3, 6, 7, 8};
  ASSERT_EQ(p.panels->cols(), 6);
  for (Index i = 0; i < 6; ++i) {
    EXPECT_EQ(p.panels->row_at(i), left[static_cast<std::size_t>(i)]);
    EXPECT_EQ(p.panels->id_at(i), 500 + left[static_cast<std::size_t>(i)]);
  }
  Report report;
  p.panels->describe(report);
  EXPECT_EQ(report.skipped_base, 3);
  EXPECT_EQ(report.zero_base, 1);
}

TEST(Panels, PutEveryRowOfATileBelowTheTilesTerms) {
  std::mt19937_64 random(22);
  for (const std::string& isa : isas()) {
    const auto& k = kernels_of(isa);
    const Index tile = 2 * k.panel_cols;
    const Matrix m = make(Kind::mixed_scales, 5 * k.panel_cols + 3, 7, random);
    const Packed p = pack(k, m.view(), {}, true, tile);
    ASSERT_EQ(std::ssize(p.panels->tile_terms), 3);
    std::vector<double> row(16);
    std::vector<float> out(16);
    for (Index i = 0; i < m.rows; ++i) {
      RowReader(k, m.view(), false).read(i, row.data());
      const auto narrow = prepare::narrow_base_row(p.narrowing, k, row.data(), 16, out.data());
      if (narrow.bypass) continue;
      const auto& terms = p.panels->tile_terms[static_cast<std::size_t>(i / tile)];
      ASSERT_LE(narrow.terms.norm2, terms.norm2);
      ASSERT_LE(narrow.terms.norm, terms.norm);
      ASSERT_LE(narrow.terms.residual, terms.residual);
    }
  }
}

TEST(Panels, TurnRowsWithoutABoundIntoNan) {
  std::mt19937_64 random(23);
  Matrix m = make(Kind::normal, 3000, 2, random);
  m.row(2001)[0] = 1e80;  // an odd row: the sample that chooses the scale takes every second one
  for (const std::string& isa : isas()) {
    const auto& k = kernels_of(isa);
    const Packed p = pack(k, m.view(), {}, true, k.panel_cols);
    const Index w = k.panel_cols;
    Index nans = 0;
    for (const float v : p.panels->panels) nans += std::isnan(v) ? 1 : 0;
    EXPECT_EQ(nans, 2) << isa;
    EXPECT_TRUE(std::isnan(p.panels->panels[static_cast<std::size_t>((2001 / w * 2) * w + 2001 % w)])) << isa;
    for (const auto& terms : p.panels->tile_terms) EXPECT_LT(terms.norm, 1e6) << "a row without a bound must not widen its tile's";
  }
}

TEST(Panels, AreNotPackedForTheDoubleScreen) {
  std::mt19937_64 random(24);
  const Matrix m = make(Kind::normal, 100, 4, random);
  const auto executor = engine::make_executor(1);
  const auto panels = prepare::pack_panels(RowReader(kernels_of(isas().back()), m.view(), false), {}, nullptr, 48, false, *executor);
  EXPECT_EQ(panels->cols(), 100);
  EXPECT_EQ(panels->panels.size(), 0U);
  EXPECT_EQ(prepare::panel_bytes(100, 4, 48, Screen::double_precision), 0U);
}

TEST(Panels, TakeTheBytesThatWereForetold) {
  std::mt19937_64 random(25);
  for (const std::string& isa : isas()) {
    const auto& k = kernels_of(isa);
    const Matrix m = make(Kind::normal, 333, 6, random);
    const Packed p = pack(k, m.view(), {}, true, k.panel_cols);
    EXPECT_EQ(p.panels->panels.bytes() + p.panels->bias.bytes(), prepare::panel_bytes(333, 6, k.panel_cols, Screen::fp32_dot)) << isa;
  }
}

}  // namespace
}  // namespace tessera::testing
