// SPDX-License-Identifier: Apache-2.0
// The bf16 screen's sums, held against the instruction's definition in plain floats.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "prepare/narrowing.hpp"
#include "support/bf16_tables.hpp"
#include "support/data.hpp"
#include "support/float16.hpp"

namespace tessera::testing {
namespace {

using kernels::CpuKernels;
using kernels::Hit;
using kernels::HitList;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float flushed(float x) { return std::abs(x) < std::numeric_limits<float>::min() ? 0.0f : x; }

/// A product of two has 16 bits: exact. Not inlined: GCC 12.2 vectorises the sum over pairs taken in reverse, and adds some twice.
[[gnu::noinline]] float step(float sum, float x, float y, bool flushes) { return flushes ? flushed(sum + x * y) : sum + x * y; }

/// Sixteen bits of each element, and the float they stand for.
struct Halves {
  std::vector<std::uint16_t> bits;  // [rows, 2 depth]
  float at(Index i) const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits[static_cast<std::size_t>(i)]) << 16); }
};

template <class Draw>
Halves halves(Index count, Draw draw) {
  Halves h;
  for (Index i = 0; i < count; ++i) h.bits.push_back(brain_bits(draw(i)));
  return h;
}

/// Words of rows interleaved, as kernels take them.
std::vector<float> panel(const Halves& h, Index rows, Index depth) {
  std::vector<float> out(static_cast<std::size_t>(rows * depth));
  for (Index r = 0; r < rows; ++r) {
    for (Index t = 0; t < depth; ++t) {
      const auto at = static_cast<std::size_t>((r * depth + t) * 2);
      out[static_cast<std::size_t>(t * rows + r)] = std::bit_cast<float>(static_cast<std::uint32_t>(h.bits[at]) | static_cast<std::uint32_t>(h.bits[at + 1]) << 16);
    }
  }
  return out;
}

/// The kernel's scores of one panel, each against score_of(sum).
void expect_scores(const CpuKernels& k, Index rows, Index depth, const Halves& x, const Halves& y, bool flushes) {
  const Index cols = k.panel_cols;
  const std::vector<float> thresholds(static_cast<std::size_t>(rows), kInfinity), factor(static_cast<std::size_t>(rows), 2.0f), reach(static_cast<std::size_t>(rows), 0.5f),
      residual(static_cast<std::size_t>(cols), 8.0f), bias(static_cast<std::size_t>(cols), 4.0f);
  std::vector<Hit> hits(static_cast<std::size_t>(2 * rows * cols));
  std::vector<HitList> lists;
  for (Index r = 0; r < rows; ++r) lists.push_back({hits.data() + 2 * r * cols, 0});
  const std::vector<float> query = panel(x, rows, depth), base = panel(y, cols, depth);
  const kernels::ScreenCall call{.query = query.data(), .base = base.data(), .bias = bias.data(), .thresholds = thresholds.data(), .lists = lists.data(),
                                 .depth = depth, .first_panel = 0, .last_panel = 1, .capacity = static_cast<std::int32_t>(2 * cols), .factor = 2,
                                 .row_factor = factor.data(), .row_reach = reach.data(), .col_residual = residual.data()};
  ASSERT_EQ(k.bf16_screen(rows).screen(call), 1);
  for (Index r = 0; r < rows; ++r) {
    ASSERT_EQ(lists[static_cast<std::size_t>(r)].count, cols);
    for (Index c = 0; c < cols; ++c) {
      float sum = 0;
      for (Index t = 0; t < depth; ++t) {
        for (Index half = 1; half >= 0; --half) sum = step(sum, x.at((r * depth + t) * 2 + half), y.at((c * depth + t) * 2 + half), flushes);
      }
      ASSERT_EQ(lists[static_cast<std::size_t>(r)].hits[c].score, 4.0f - 2.0f * sum - 4.0f) << k.isa << ", row " << r << ", column " << c << ", depth " << depth;
    }
  }
}

bool is_scalar(const CpuKernels& k) { return std::string_view(k.isa) == "scalar"; }

TEST(Bf16Screen, SumsPairsInTheInstructionsOrder) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  ASSERT_FALSE(bf16_tables().empty());
  for (const CpuKernels* k : bf16_tables()) {
    for (const Index rows : {1, 2, 4, 8}) {
      if (rows > k->panel_rows) continue;
      for (const Index depth : {1, 2, 7, 50}) {
        const auto draw = [&](Index) { return normal(random); };
        expect_scores(*k, rows, depth, halves(rows * depth * 2, draw), halves(k->panel_cols * depth * 2, draw), false);
      }
    }
  }
}

/// 1.0078125 * 2^-124 - 2^-124 is subnormal.
TEST(Bf16Screen, FlushesSubnormalSumsAsTheInstructionDoes) {
  for (const CpuKernels* k : bf16_tables()) {
    const auto draw = [](Index i) { return i % 2 == 0 ? 0x1.02p-62 : -0x1p-62; };
    const auto one = [](Index) { return 0x1p-62; };
    expect_scores(*k, 1, 3, halves(6, draw), halves(k->panel_cols * 6, one), !is_scalar(*k));
  }
}

TEST(Bf16Rows, AreRoundedToNearestEvenWithWhatIsLeftMeasured) {
  std::mt19937_64 random(8);
  std::vector<float> values = {0.0f, -0.0f, 1 + 0x1p-8f, 1 + 0x1.8p-7f, -1 - 0x1.01p-8f, 0x1p-63f, 0x1p-62f, 0x1.fffp50f};
  for (int i = 0; i < 1000; ++i) values.push_back(std::ldexp(static_cast<float>(random() % 2000001) - 1e6f, static_cast<int>(random() % 60) - 40));
  std::vector<std::uint16_t> out(values.size());
  const double rest = prepare::round_to_bf16(values.data(), std::ssize(values), out.data());
  double want = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = std::abs(values[i]) < 0x1p-62f ? std::uint16_t{0} : brain_bits(static_cast<double>(values[i]));
    EXPECT_EQ(out[i], bits) << values[i];
    const double r = static_cast<double>(values[i]) - support::double_of_bfloat16(bits);
    want += r * r;
  }
  EXPECT_DOUBLE_EQ(rest, want);
}

}  // namespace
}  // namespace tessera::testing
