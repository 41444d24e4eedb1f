// SPDX-License-Identifier: Apache-2.0
// Rows in bf16 and in 8 bits, and the brackets of their scores: on data that hurt, and on data built to attain them.
#include "prepare/tensor_rows.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/cuda/tensor_layout.hpp"
#include "simt/tensor_scores.hpp"
#include "support/float16.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using prepare::TensorType;

constexpr TensorType kTypes[] = {TensorType::bf16, TensorType::int8};
constexpr Metric kMetrics[] = {Metric::sqeuclidean, Metric::inner_product, Metric::cosine};

const kernels::CpuKernels& best() { return engine::select_kernels(); }

TEST(TensorPieces, OfEightRowsLieInDifferentBanks) {
  for (unsigned first = 0; first < cuda::kTensorPanel; first += 8) {
    for (unsigned piece = 0; piece < cuda::kPieces; ++piece) {
      unsigned banks = 0;
      for (unsigned r = 0; r < 8; ++r) banks |= 1u << (cuda::tensor_piece(first + r, piece) / cuda::kPieceBytes % 8);
      EXPECT_EQ(banks, 0xffu) << first << ", " << piece;
    }
  }
}

TEST(TensorPieces, FillAChunkExactly) {
  std::vector<bool> seen(cuda::kPanelChunkBytes / cuda::kPieceBytes);
  for (unsigned r = 0; r < cuda::kTensorPanel; ++r) {
    for (unsigned piece = 0; piece < cuda::kPieces; ++piece) seen.at(cuda::tensor_piece(r, piece) / cuda::kPieceBytes) = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), std::ssize(seen));
}

TEST(Bf16Rows, CountWhatRoundingLeaves) {
  const float row[16] = {1.0F + 0x1p-8F, 3, 0x1p-63F, -1.0F - 0x1p-9F};
  std::uint16_t out[16];
  const prepare::NarrowedRow narrowed = prepare::narrow_to_bf16({.terms = {.norm2 = 10, .norm = 3.2, .residual = 0.25, .dot_centre = 7}}, row, 16, out);
  EXPECT_EQ(out[0], support::bfloat16_of(1));  // a tie, to even
  EXPECT_EQ(out[1], support::bfloat16_of(3));
  EXPECT_EQ(out[2], 0);
  EXPECT_EQ(out[3], support::bfloat16_of(-1));
  const double rest = std::sqrt(0x1p-16 + 0x1p-126 + 0x1p-18);
  EXPECT_GE(narrowed.terms.residual, 0.25 + rest);
  EXPECT_LE(narrowed.terms.residual, (0.25 + rest) * (1 + 1e-9));
  EXPECT_GE(narrowed.terms.norm, 3.2 + rest);
  EXPECT_EQ(narrowed.terms.norm2, 10);
  EXPECT_EQ(narrowed.terms.dot_centre, 7);
}

TEST(TensorBounds, HoldOnDataThatHurt) {
  constexpr std::uint64_t kSeed = 72;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  Index pairs = 0, bypassed = 0;
  for (int n = 0; n < kHurtfulCount; ++n) {
    for (const Index d : {1, 2, 16, 17, 100}) {
      const Matrix base = hurtful(n, 13, d, random);
      const Matrix other = hurtful(static_cast<int>(random() % kHurtfulCount), 5, d, random);
      for (const Metric metric : kMetrics) {
        for (const TensorType type : kTypes) {
          for (const cuda::TensorArch& arch : cuda::kTensorArchs) {
            for (const Matrix* queries : {&base, &other}) {
              SCOPED_TRACE(fmt::format("data {}, d {}, {}, type {}, sm_{}", n, d, name_of(metric), static_cast<int>(type), arch.arch));
              const ScreenedPairs screened = screen_all_tensor(best(), metric, type, arch, queries->view(), base.view(), n % 3 == 0 ? other.view() : base.view());
              for (const ScreenedPair& p : screened.pairs) {
                for (const metrics::RowTerms* terms : {&p.base, &p.tile}) {
                  const Verdict v = judge(screened.context, p.query, *terms, p.score, p.z);
                  ASSERT_TRUE(v.bracket_holds) << fmt::format("score {:a}, z {:a}", p.score, static_cast<double>(p.z));
                  ASSERT_TRUE(v.threshold_holds) << fmt::format("score {:a}, z {:a}", p.score, static_cast<double>(p.z));
                }
              }
              pairs += std::ssize(screened.pairs);
              bypassed += screened.bypassed;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(pairs, 100000);
  EXPECT_GT(bypassed, 0);
}

/// All of the slack holds; a little less does not.
void expect_attained(const Matrix& query, const Matrix& target, double too_little) {
  const Matrix base = mirrored(target);  // the mean is 0: nothing is centred
  for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product}) {
    for (const double inflation : {1.0, too_little}) {
      SCOPED_TRACE(fmt::format("{}, {}", name_of(metric), inflation));
      const ScreenedPairs screened = screen_all_tensor(best(), metric, TensorType::bf16, cuda::kTensorArchs[1], query.view(), base.view(), base.view(), inflation);
      const ScreenedPair& p = screened.pairs[0];
      const metrics::PairBound bound(screened.context, p.query, p.base);
      EXPECT_EQ(bound.lower(p.score) <= p.z, inflation == 1);
      EXPECT_EQ(p.score <= bound.threshold(static_cast<double>(p.z)), inflation == 1);
    }
  }
}

Matrix constant(Index d, double value) {
  Matrix m = zeros(1, d);
  std::fill(m.values.begin(), m.values.end(), value);
  return m;
}

// Just below half a unit in the last place of a bf16 in [1, 2): it becomes 1, and what is lost points along the other row.
constexpr double kRoundedDown = 1 + 0x1p-8 * (1 - 0x1p-10);

TEST(TensorBounds, AreAttainedByABaseRowThatRoundsAlongTheQuery) { expect_attained(constant(40, 1), constant(40, kRoundedDown), 0.98); }
TEST(TensorBounds, AreAttainedByAQueryThatRoundsAlongTheBaseRow) { expect_attained(constant(40, kRoundedDown), constant(40, 1), 0.98); }

}  // namespace
}  // namespace tessera::testing
